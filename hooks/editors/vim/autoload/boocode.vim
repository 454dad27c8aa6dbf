vim9script
# A client of git-boocode for Vim 9.0 or newer; `:help boocode` describes it.

import '../import/boocode/accepted.vim'
import '../import/boocode/proposal.vim'
import '../import/boocode/server.vim'
import '../import/boocode/steps.vim'
import '../import/boocode/task.vim'
import '../import/boocode/turns.vim'
import '../import/boocode/worktree.vim'

# The arguments of tools that options of the commands stand for.
const OPTIONS = {
  accept: {
    '-n': 'dry_run',
    '--dry-run': 'dry_run',
    '--force': 'force',
    '--markers': 'markers',
    '--merge': 'merge',
    '--overwrite': 'overwrite',
  },
  discard: {'--force': 'force'},
  restore: {'--files-only': 'files_only'},
}
const SIDES = {'--before': ['before'], '--after': ['after']}
const NAMED_FILES = 3

# The tops of worktrees in which `:BoocodeAsk` began a turn.
var asked: dict<bool> = {}

server.SetOnChange((top: string) => task.Run(() =>
  proposal.Refresh({top: top}, (_, _) => task.Finish())))

def OptionsOf(tool: string, options: list<string>): dict<any>
  var arguments: dict<any> = {}
  for option in options
    if !has_key(OPTIONS[tool], option)
      throw "boocode: unknown option '" .. option .. "'"
    endif
    arguments[OPTIONS[tool][option]] = true
  endfor
  return arguments
enddef

# After a decision, or its failure: show the signs anew, and then what was done.
def ShowOutcome(tree: dict<any>, Then: func)
  worktree.Ask(tree, 'status', {buffers: worktree.Unsaved(tree)}, (_) => {
    proposal.Refresh(tree, (_, _) => Then())
  }, (_) => Then())
enddef

# Carry out a decision, and say so.
def Decide(tree: dict<any>, tool: string, arguments: dict<any>, what: string)
  final Failed = (answer: dict<any>) => ShowOutcome(tree, () =>
    steps.Offer(answer, tool, arguments, (more) => Decide(tree, tool, more, what)))
  final Say = (done: string, files: list<any>) => {
    task.Notice(done .. ' ' .. (what ?? turns.Named(files)))
    task.Finish()
  }
  if tool == 'accept' && !get(arguments, 'dry_run', false)
    worktree.Change(tree, tool, arguments, (answer, filled) => {
      accepted.Remember(tree, answer, filled, what ?? turns.Named(answer.files))
      ShowOutcome(tree, () => Say('accepted', answer.files))
    }, Failed)
    return
  endif
  final given = extend(copy(arguments), {buffers: worktree.Unsaved(tree)})
  worktree.Ask(tree, tool, given, (answer) => ShowOutcome(tree, () =>
    Say(tool == 'accept' ? 'would accept' : 'discarded', answer.files)), Failed)
enddef

# What the user sees of a file; what is seen for the first time has to be looked at.
def Seen(tree: dict<any>, here: dict<any>, of_hunk: bool, Then: func)
  if !empty(proposal.Shown(here.buffer))
    Then(proposal.Shown(here.buffer))
    return
  endif
  proposal.Refresh(tree, (_, _) => {
    final preview = proposal.Shown(here.buffer)
    if of_hunk && !empty(preview)
      throw 'boocode: look at the signs first, then run the command again'
    endif
    Then(preview)
  })
enddef

def RefuseRemoval(tool: string, buffer: number, status: string)
  if tool == 'accept' && buffer > 0 && getbufvar(buffer, '&modified') && status =~ '[DR]'
    throw 'boocode: write the buffer first: it is to be deleted or renamed'
  endif
enddef

# The id of the shown proposal as an argument: what was not shown is not accepted.
def Expect(id: any): dict<any>
  return id == null ? {} : {expect: id}
enddef

# Accept or discard the file of the cursor's buffer, or its hunk.
def OnFile(tool: string, of_hunk: bool, options: list<string>)
  final here = worktree.Here()
  task.Run(() => {
    final given = OptionsOf(tool, options)
    final [tree, path] = worktree.FileAt(here)
    Seen(tree, here, of_hunk, (preview) => {
      final hunk = of_hunk ? proposal.HunkAt(here) : 0
      if of_hunk && hunk == 0
        final line = get(here, 'in_output', 0) ?? worktree.LineOf(here)
        throw 'boocode: nothing is proposed for line ' .. line
      endif
      RefuseRemoval(tool, here.buffer, get(preview, 'status', ''))
      var arguments = extend(given, {paths: [path]})
      extend(arguments, Expect(get(preview, 'proposal', null)))
      extend(arguments, of_hunk ? {hunk: [hunk]} : {})
      Decide(tree, tool, arguments, of_hunk ? 'a hunk of ' .. path : '')
    })
  })
enddef

export def Accept(options: list<string> = [])
  OnFile('accept', false, options)
enddef

export def AcceptHunk(options: list<string> = [])
  OnFile('accept', true, options)
enddef

export def Discard(options: list<string> = [])
  OnFile('discard', false, options)
enddef

export def DiscardHunk(options: list<string> = [])
  OnFile('discard', true, options)
enddef

# Accept or discard all that is proposed.
def OnAll(tool: string, options: list<string>)
  final here = worktree.Here()
  task.Run(() => {
    final given = OptionsOf(tool, options)
    final tree = worktree.Of(here)[0]
    final seen_id = proposal.Latest(tree)
    proposal.Refresh(tree, (files, id) => {
      final buffers = worktree.Buffers(tree)
      for file in files
        RefuseRemoval(tool, get(buffers, file.path, 0), file.status)
      endfor
      Decide(tree, tool, extend(given, Expect(seen_id ?? id)), '')
    })
  })
enddef

export def AcceptAll(options: list<string> = [])
  OnAll('accept', options)
enddef

export def DiscardAll(options: list<string> = [])
  OnAll('discard', options)
enddef

# Run an action with the worktree of the current buffer.
def InTree(Action: func)
  final here = worktree.Here()
  task.Run(() => Action(worktree.Of(here)[0]))
enddef

# Show a sign at each line of the buffers that the proposal changes.
export def Signs()
  final here = worktree.Here()
  task.Run(() => proposal.Refresh(worktree.FileAt(here)[0], (_, _) => task.Finish()))
enddef

# List what is proposed, hunk by hunk, in the quickfix list.
export def List()
  InTree((tree) => proposal.List(tree))
enddef

def JumpBy(is_forwards: bool, count: number)
  task.Run(() => {
    proposal.Jump(is_forwards, max([count, 1]))
    task.Finish()
  })
enddef

export def NextHunk(count: number = v:count1)
  JumpBy(true, count)
enddef

export def PreviousHunk(count: number = v:count1)
  JumpBy(false, count)
enddef

# Show the file and what is proposed for it side by side.
export def Diff()
  final here = worktree.Here()
  task.Run(() => {
    final [tree, path] = worktree.FileAt(here)
    proposal.Compare(tree, path, here.buffer)
  })
enddef

# Propose edits, as the lines of a model's answer; `retry_of` is the id of a refused proposal. A turn
# that `:BoocodeAsk` began ends, because this is the answer.
export def Propose(lines: list<string>, retry_of: string = '')
  ProposeLines(lines, retry_of)
enddef

def ProposeLines(lines: list<string>, retry_of: string)
  InTree((tree) => {
    var arguments: dict<any> = {input: join(lines, "\n"), buffers: worktree.Unsaved(tree)}
    extend(arguments, retry_of == '' ? {} : {retry_of: retry_of})
    worktree.Ask(tree, 'propose', arguments, (answer) => {
      final Show = (_) => proposal.Refresh(tree, (_, _) => {
        final paths = answer.files->mapnew((_, file) => file.path)
        final more = len(paths) - NAMED_FILES
        final others = more > 0 ? ' and ' .. more .. ' more; :BoocodeList lists them' : ''
        task.Notice('proposed ' .. join(paths[: NAMED_FILES - 1], ', ') .. others)
        task.Finish()
      })
      if has_key(asked, tree.top)
        remove(asked, tree.top)
        worktree.Ask(tree, 'turn', {action: 'end'}, Show, Show)
      else
        Show({})
      endif
    })
  })
enddef

# What `:BoocodePropose` names: a selection, a register such as `@+`, or a file.
export def ProposeFrom(name: string, again: bool, range: number, first: number, last: number)
  final retry_of = again ? get(worktree.refused, 'id', '') : ''
  if range > 0
    ProposeLines(getline(first, last), retry_of)
  elseif name == '' || name =~ '^@.$'
    ProposeLines(getreg(name[1 :], 1, true), retry_of)
  elseif !filereadable(expand(name))
    task.Run(() => {
      throw "boocode: cannot read '" .. name .. "'"
    })
  else
    ProposeLines(readfile(expand(name)), retry_of)
  endif
enddef

# The answer to the edits that were refused last; its `retry_context` tells a model what to send
# instead.
export def Refused(): dict<any>
  return worktree.refused
enddef

# For plugins that ask a model: begin a turn before the question, and end it after the answer, so
# that its edits are for the files and buffers as they were then. `Then` is called once it has begun.
export def BeginTurn(text: string = '', Then: func = null_function)
  Begin(text, Then)
enddef

def Begin(text: string, Then: func)
  InTree((tree) => {
    var arguments: dict<any> = {action: 'begin', pid: getpid(), buffers: worktree.Unsaved(tree)}
    extend(arguments, text == '' ? {} : {message: text})
    worktree.Ask(tree, 'turn', arguments, (_) => {
      if Then != null_function
        Then()
      endif
      task.Finish()
    })
  })
enddef

export def EndTurn(Then: func = null_function)
  End(Then)
enddef

def End(Then: func)
  InTree((tree) => {
    worktree.Ask(tree, 'turn', {action: 'end'}, (_) => {
      asked->filter((top, _) => top != tree.top)
      if Then != null_function
        Then()
      endif
      task.Finish()
    })
  })
enddef

# Begin a turn with a question, which the next `:BoocodePropose` ends; or end it without.
export def Ask(text: string, is_over: bool = false)
  if is_over
    End(() => task.Notice('the turn has ended'))
    return
  endif
  final here = worktree.Here()
  Begin(text, () => {
    asked[worktree.Of(here)[0].top] = true
    task.Notice('a turn has begun; :BoocodePropose with the answer ends it, and so does :BoocodeAsk!')
  })
enddef

# The sides of a turn that a command may go to, and its other options.
def RestoreOptions(options: list<string>): list<any>
  var sides = ['before', 'after']
  for option in options
    sides = get(SIDES, option, sides)
  endfor
  final others = copy(options)->filter((_, option) => !has_key(SIDES, option))
  return [sides, OptionsOf('restore', others)]
enddef

# Choose a turn, and restore the files to before or after it.
export def Restore(options: list<string> = [])
  InTree((tree) => {
    final [sides, arguments] = RestoreOptions(options)
    turns.Restore(tree, [], arguments, sides)
  })
enddef

# The worktree of a place, whose buffer has to be saved, and a pathspec of its file.
def SavedFile(here: dict<any>): list<any>
  final [tree, path] = worktree.FileAt(here)
  if getbufvar(here.buffer, '&modified')
    throw 'boocode: write the buffer first: its file is to be restored'
  endif
  return [tree, [':(top,literal)' .. path]]
enddef

# Choose a turn, and restore the file to before or after it.
export def RestoreFile(options: list<string> = [])
  final here = worktree.Here()
  task.Run(() => {
    final [sides, arguments] = RestoreOptions(options)
    final [tree, paths] = SavedFile(here)
    turns.Restore(tree, paths, arguments, sides)
  })
enddef

# Choose a turn, and restore the hunk under the cursor to before it, or with `--after` to after it.
export def RestoreHunk(options: list<string> = [])
  final here = worktree.Here()
  task.Run(() => {
    final sides = RestoreOptions(options)[0]
    final [tree, paths] = SavedFile(here)
    turns.RestoreHunk(tree, here, paths, sides[0])
  })
enddef

# Choose a turn, and take it back; what others wrote since stays, in modified buffers, too.
export def Revert()
  InTree((tree) => turns.Revert(tree))
enddef

# Choose a turn that is not in force, and do here what it did.
export def Pick()
  InTree((tree) => turns.Pick(tree))
enddef

# List the turns, to walk through what they did.
export def Log()
  InTree((tree) => turns.Log(tree))
enddef

# Step back, or forth again, through restores, reverts, accepts and discards.
def StepThrough(tree: dict<any>, tool: string, arguments: dict<any>, done: string)
  final Failed = (answer: dict<any>) => steps.Offer(answer, tool, arguments, (more) =>
    StepThrough(tree, tool, more, done))
  worktree.Ask(tree, tool, extend(copy(arguments), {dry_run: true}), (planned) => {
    turns.RefuseUnsaved(tree, planned.changed)
    worktree.Ask(tree, tool, arguments, (answer) => {
      final is_kept = accepted.FollowStep(tree, tool, answer)
      worktree.FillBuffers(tree, answer.changed)
      var what = 'the latest ' .. get(answer, 'proposal', 'change')
      if !empty(answer.changed)
        what = 'the change of ' .. turns.Named(answer.changed)
      endif
      ShowOutcome(tree, () => turns.RefreshLog(tree, () => {
        task.Notice(done .. ' ' .. what .. (is_kept ? '; the buffer keeps its text' : ''))
        task.Finish()
      }))
    }, Failed)
  }, Failed)
enddef

export def Undo()
  InTree((tree) => StepThrough(tree, 'undo', {}, 'undid'))
enddef

export def Redo()
  InTree((tree) => StepThrough(tree, 'redo', {}, 'redid'))
enddef

# Take a checkpoint of the files as they are on disk.
export def Checkpoint(label: string = '')
  InTree((tree) => worktree.Ask(tree, 'checkpoint', label == '' ? {} : {label: label}, (_) => {
    final unsaved = len(worktree.Unsaved(tree))
    final without = unsaved == 0 ? '' : ', without the changes of unsaved buffers: ' .. unsaved
    task.Notice('took a checkpoint' .. without)
    task.Finish()
  }))
enddef

# Say what is proposed, and whether a turn is running.
export def Status()
  InTree((tree) => proposal.Refresh(tree, (files, _) => {
    var lines = files->mapnew((_, file) => printf('%-2s %s', file.status, file.path))
    if empty(lines)
      lines = ['nothing is proposed']
    endif
    final Say = () => {
      for line in lines
        task.Notice(line)
      endfor
      task.Finish()
    }
    worktree.Ask(tree, 'turn', {action: 'status'}, (answer) => {
      add(lines, 'a turn is running: ' .. (answer.turn.message ?? 'without a name'))
      Say()
    }, (_) => Say())
  }))
enddef

# Give up what Vim waits for; by force, end the servers that do not answer.
export def Cancel(by_force: bool = false)
  final [kept, cancelled] = server.Cancel(by_force)
  if !empty(kept)
    final tools = join(kept, ', ')
    task.Notice(tools .. ' has begun; :BoocodeUndo takes it back, :BoocodeCancel! ends the server')
  elseif cancelled == 0
    task.Notice('there is nothing to cancel')
  endif
enddef

# For scripts: wait until all commands have ended, at most some milliseconds. Returns whether they
# have.
export def Wait(milliseconds: number = 120000): bool
  return task.Wait(milliseconds)
enddef
