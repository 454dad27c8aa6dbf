vim9script
# Commands run one after another. Each is a chain of functions that are called when an answer comes,
# so that Vim never waits; the last one calls `Finish`.

var queue: list<func> = []
var is_busy = false

export def Notice(text: string)
  echomsg 'boocode: ' .. text
enddef

export def ShowError(problem: string)
  final text = problem->substitute('^boocode: ', '', '')
  echohl ErrorMsg
  for line in split(text, "\n")
    echomsg 'boocode: ' .. line
  endfor
  echohl None
enddef

# Run a part of the current command. An error ends the command and is shown.
export def Step(Part: func)
  try
    Part()
  catch
    ShowError(v:exception)
    Finish()
  endtry
enddef

def Next()
  if !is_busy && !empty(queue)
    is_busy = true
    Step(remove(queue, 0))
  endif
enddef

# Begin a command once those before it have ended.
export def Run(Action: func)
  add(queue, Action)
  Next()
enddef

# Whether no command is running.
export def IsIdle(): bool
  return !is_busy && empty(queue)
enddef

# End the current command.
export def Finish()
  is_busy = false
  Next()
enddef

# Ask the user, who may never answer: other commands go on meanwhile. `Start` gets the function to
# call with the answer.
export def AskUser(Start: func, Then: func)
  Start((answer: any) => Run(() => Then(answer)))
  Finish()
enddef

# For scripts: wait until all commands have ended, at most some milliseconds. Returns whether they
# have.
export def Wait(milliseconds: number): bool
  final start = reltime()
  while !IsIdle()
    if reltimefloat(reltime(start)) * 1000 > milliseconds
      return false
    endif
    sleep 2m
  endwhile
  return true
enddef
