vim9script
# The next steps that a failed answer names, offered to the user.

import './task.vim'
import './worktree.vim'

# Let one of some rows be chosen in a menu, or by the function in `g:BoocodeSelect`; `Choose` gets
# the index, -1 for none.
export def Select(title: string, rows: list<string>, Choose: func)
  if exists('g:BoocodeSelect')
    call(g:BoocodeSelect, [title, rows, Choose])
    return
  endif
  popup_menu(rows, {
    title: ' ' .. title .. ' ',
    maxheight: &lines - 6,
    callback: (_, number) => Choose(number - 1),
  })
enddef

# These show what they would do before they do it, so a dry run is another call of the command.
const SHOWN_FIRST = ['restore', 'revert', 'pick', 'undo', 'redo']

# The arguments of a call of a tool with those of a step: null removes one, a list adds to one.
def WithStep(tool: string, arguments: dict<any>, step: dict<any>): dict<any>
  var merged = copy(arguments)
  for [name, value] in items(step.arguments)
    if value == null || (name == 'dry_run' && index(SHOWN_FIRST, tool) >= 0)
      filter(merged, (key, _) => key != name)
    elseif type(value) == v:t_list && has_key(merged, name)
      merged[name] = merged[name] + value
    else
      merged[name] = value
    endif
  endfor
  return merged
enddef

# Offer the next steps of a failed answer of a tool; `Then` gets the arguments with those of the
# chosen one. Without a step, the answer is shown as an error, which ends the command.
export def Offer(answer: dict<any>, tool: string, arguments: dict<any>, Then: func)
  final steps = get(answer.error, 'next', [])->copy()->filter((_, step) =>
    get(step, 'tool', tool) == tool && get(step, 'arguments', null) != null)
  if empty(steps)
    throw worktree.Describe(answer)
  endif
  task.ShowError(answer.error.message)
  final rows = steps->mapnew((_, step) => step.text)
  task.AskUser((Choose) => Select(answer.error.message, rows, Choose), (index: any) => {
    if index < 0
      task.Finish()
    else
      Then(WithStep(tool, arguments, steps[index]))
    endif
  })
enddef
