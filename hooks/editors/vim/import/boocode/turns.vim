vim9script
# Turns: choose one, see what it did, go back to before or after it, or take it back.

import './proposal.vim'
import './steps.vim'
import './task.vim'
import './worktree.vim'

const FIRST_PAGE = 50
const LISTED_FILES = 12
const MARKS = {archived: 'archived', restored: 'restored away', reverted: 'reverted'}
const SIDES = {before: 'before this turn', after: 'after this turn'}
const UNDO = ':BoocodeUndo takes it back'
# What the user reads of the two ways of a turn, back, and here once more: a question, that there is
# nothing to do, and what was done.
const WORDS = {
  revert: ['Take back this turn? ', 'there is nothing left of that turn', 'took back'],
  pick: ['Do here what this turn did? ', 'all that it changed is here', 'picked'],
}
const DIFF_NAME = 'boocode://turn'
const LOG_NAME = 'boocode://log'
const HERE_INDENT = repeat(' ', 12)
const OLDER = 'older turns…'

def Plural(number: number, word: string): string
  return number .. ' ' .. word .. (number == 1 ? '' : 's')
enddef

# How many files, or which one.
export def Named(files: list<any>): string
  return len(files) == 1 ? files[0].path : Plural(len(files), 'file')
enddef

# How long ago a turn began, or its day.
def Age(time: string): string
  final began = strptime('%Y-%m-%dT%H:%M:%S %z', time[: 18] .. ' +0000')
  final seconds = localtime() - began
  if seconds >= 30 * 86400
    return strftime('%F', began)
  endif
  for [unit, name] in [[86400, 'd'], [3600, 'h'], [60, 'min']]
    if seconds >= unit
      return (seconds / unit) .. ' ' .. name .. ' ago'
    endif
  endfor
  return 'just now'
enddef

# What was asked for; a turn without a label has the abbreviated id of its commit.
def LabelOf(turn: dict<any>): string
  return matchstr(turn.label ?? 'checkpoint ' .. turn.commit[: 7], '^[^\n]*')
enddef

# A turn in one line: when it began, agent, files, lines, its marks, and what was asked for, whose
# end a narrow window does not show.
def DescribeTurn(turn: dict<any>): string
  final lines = printf('+%s −%s', turn.added, turn.removed)
  final fields = [Age(turn.created_at), turn.agent ?? '', Plural(turn.files ?? 0, 'file'), lines]
  var row = call('printf', ['%-10s  %-11s  %9s  %12s  '] + fields)
  if has_key(MARKS, get(turn, 'state', ''))
    row ..= '(' .. MARKS[turn.state] .. ') '
  endif
  if get(turn, 'open', false)
    row ..= '(running) '
  endif
  return row .. LabelOf(turn)
enddef

def YouAreHere(turn: dict<any>): string
  const state = turn.here == 'after' ? get(MARKS, get(turn, 'state', ''), '') : ''
  return 'you are here: ' .. turn.here .. ' this turn' .. (empty(state) ? '' : ' (' .. state .. ')')
enddef

# The turns of an answer of log, of which one says where the files are.
def WithHere(answer: dict<any>): list<any>
  final here = get(answer, 'here', null)
  for turn in answer.checkpoints
    if here != null && here.turn == turn.id
      turn.here = here.side
    endif
  endfor
  return answer.checkpoints
enddef

# The newest turns, of those that changed some paths.
def ReadTurns(tree: dict<any>, paths: list<string>, limit: number, Then: func)
  var given: dict<any> = {max_count: limit}
  if !empty(paths)
    given.paths = paths
  endif
  worktree.Ask(tree, 'log', given, (answer) => {
    final turns = WithHere(answer)
    if empty(turns)
      throw 'boocode: ' .. (empty(paths) ? 'there are no turns' : 'no turn changed this file')
    endif
    Then(turns)
  })
enddef

# Let one of the newest turns be chosen; the command ends if none is.
def ChooseTurn(
    tree: dict<any>, title: string, paths: list<string>, Then: func,
    limit: number = FIRST_PAGE)
  ReadTurns(tree, paths, limit, (turns) => {
    var rows = turns->mapnew((_, turn) =>
      DescribeTurn(turn) .. (has_key(turn, 'here') ? '  (' .. YouAreHere(turn) .. ')' : ''))
    if len(turns) == limit
      add(rows, OLDER)
    endif
    task.AskUser((Choose) => steps.Select(title, rows, Choose), (index: any) => {
      if index == len(turns)
        ChooseTurn(tree, title, paths, Then, limit * 4)
      elseif index >= 0
        Then(turns[index])
      else
        task.Finish()
      endif
    })
  })
enddef

# A choice of some words; empty if the user cancels.
def ChooseWord(question: string, words: list<string>): string
  final shown = words->mapnew((_, word) => '&' .. word) + ['&Cancel']
  final chosen = confirm(question, join(shown, "\n"), len(shown))
  # What is said next would go with the question.
  redraw
  return get(words, chosen - 1, '')
enddef

# What would be done to files, a line each.
def FileLines(files: list<any>, indent: string): list<string>
  var lines: list<string> = []
  for file in files[: LISTED_FILES - 1]
    final counts = get(file, 'lines', null)
    final shown = counts == null ? '' : printf('  +%s −%s', counts.added, counts.removed)
    add(lines, indent .. file.action .. ' ' .. file.path .. shown)
  endfor
  if len(files) > LISTED_FILES
    add(lines, indent .. 'and ' .. Plural(len(files) - LISTED_FILES, 'more file'))
  endif
  return lines
enddef

# Refuse to change files whose buffers are not saved: they would be out of date.
export def RefuseUnsaved(tree: dict<any>, files: list<any>)
  final unsaved = worktree.Unsaved(tree)
  final paths = copy(files)->map((_, file) => file.path)->filter((_, path) => has_key(unsaved, path))
  if !empty(paths)
    throw 'boocode: write the buffer first: ' .. join(paths, ', ') .. ' would change'
  endif
enddef

def Report(tree: dict<any>, files: list<any>, done: string)
  task.Notice(done .. ' ' .. Named(files) .. '; ' .. UNDO)
  proposal.Refresh(tree, (_, _) => RefreshLog(tree, task.Finish))
enddef

# Replace the lines of a buffer, which is never empty meanwhile: Vim would say so.
def SetLines(buffer: number, lines: list<string>)
  setbufvar(buffer, '&modifiable', true)
  setbufline(buffer, 1, empty(lines) ? [''] : lines)
  deletebufline(buffer, max([len(lines), 1]) + 1, '$')
  setbufvar(buffer, '&modifiable', false)
enddef

# Show what a turn did in a window below, and leave the cursor where it is.
def ShowDiff(tree: dict<any>, turn: dict<any>, Then: func)
  worktree.Ask(tree, 'diff', {old: turn.id, turn: true}, (answer) => {
    if bufwinid(DIFF_NAME) < 0
      silent botright new
      setlocal buftype=nofile bufhidden=wipe noswapfile filetype=diff
      execute 'silent file' fnameescape(DIFF_NAME)
      wincmd p
    endif
    final buffer = bufnr(DIFF_NAME)
    SetLines(buffer, [LabelOf(turn), ''] + split(answer.diff, "\n"))
    win_execute(bufwinid(DIFF_NAME), ':1')
    Then()
  })
enddef

# The arguments of a restore to a side of a turn.
def ToSide(arguments: dict<any>, side: string): dict<any>
  var given = copy(arguments)
  if side == 'after'
    given.after = true
  endif
  return given
enddef

# What a restore to each side of a turn would change; a side may be impossible, and if all are,
# `Failed` gets the last answer.
def PlansOf(
    tree: dict<any>, arguments: dict<any>, sides: list<string>, Then: func, Failed: func,
    plans: list<any> = [])
  if empty(sides)
    Then(plans)
    return
  endif
  final side = sides[0]
  final given = extend(ToSide(arguments, side), {dry_run: true})
  worktree.Ask(tree, 'restore', given, (answer) => {
    final plan = {side: side, changed: answer.changed, version: answer.version}
    PlansOf(tree, arguments, sides[1 :], Then, Failed, plans + [plan])
  }, (answer) => {
    if len(sides) == 1 && empty(plans)
      Failed(answer)
    else
      PlansOf(tree, arguments, sides[1 :], Then, Failed, plans)
    endif
  })
enddef

def QuestionOf(turn: dict<any>, plans: list<any>): string
  var lines = ['Restore files? ' .. LabelOf(turn)]
  for plan in plans
    final count = empty(plan.changed) ? 'changes nothing' : Plural(len(plan.changed), 'file')
    lines += [SIDES[plan.side] .. ': ' .. count] + FileLines(plan.changed, '  ')
  endfor
  return join(lines + [UNDO .. '.'], "\n")
enddef

# Ask to which side of a turn the files go; the command ends if to none.
def ChooseSide(tree: dict<any>, turn: dict<any>, plans: list<any>, Then: func)
  final possible = copy(plans)->filter((_, plan) => !empty(plan.changed))
  if empty(possible)
    throw 'boocode: the files are as they were ' .. SIDES[plans[0].side]
  endif
  final words = possible->mapnew((_, plan) => plan.side == 'before' ? 'Before' : 'After')
  final word = ChooseWord(QuestionOf(turn, plans), words + ['Diff'])
  if word == 'Diff'
    ShowDiff(tree, turn, () => {
      redraw
      ChooseSide(tree, turn, plans, Then)
    })
  elseif word == ''
    task.Finish()
  else
    Then(possible[index(words, word)])
  endif
enddef

# Restore files to before or after a turn, once the user has seen what would change.
def RestoreTo(tree: dict<any>, turn: dict<any>, options: dict<any>, sides: list<string>)
  final arguments = extend(copy(options), {checkpoint: turn.id})
  final Failed = (answer: dict<any>) => steps.Offer(answer, 'restore', arguments, (more) =>
    RestoreTo(tree, turn, more, sides))
  PlansOf(tree, arguments, sides, (plans) => ChooseSide(tree, turn, plans, (plan) => {
    RefuseUnsaved(tree, plan.changed)
    final given = extend(ToSide(arguments, plan.side), {expect: plan.version})
    worktree.Ask(tree, 'restore', given, (answer) => {
      worktree.FillBuffers(tree, answer.changed)
      if get(answer, 'conversation_kept', false)
        task.Notice('the conversation stays, because its agent is in a turn')
      endif
      Report(tree, answer.changed, 'restored')
    }, Failed)
  }), Failed)
enddef

# Choose a turn, and restore all files, or some, to before or after it.
export def Restore(
    tree: dict<any>, paths: list<string>, options: dict<any>, sides: list<string>)
  final title = empty(paths) ? 'Restore:' : 'Restore this file:'
  var given = copy(options)
  if !empty(paths)
    given.paths = paths
  endif
  ChooseTurn(tree, title, paths, (turn) => RestoreTo(tree, turn, given, sides))
enddef

# Of the change that a restore of a file makes, the hunk at a line; empty if there is none.
def HunkAt(change: dict<any>, line: number): dict<any>
  for hunk in get(change, 'hunks', [])
    # A deletion is undone at the line above or below it.
    final first = hunk.old_text == '' ? hunk.start_line - 1 : hunk.start_line
    if first <= line && line <= max([hunk.end_line, hunk.start_line])
      return hunk
    endif
  endfor
  return {}
enddef

# Choose a turn, and restore the hunk at a place to before or after it.
export def RestoreHunk(tree: dict<any>, here: dict<any>, paths: list<string>, side: string)
  ChooseTurn(tree, 'Restore this hunk:', paths, (turn) => {
    final arguments = ToSide({checkpoint: turn.id, paths: paths}, side)
    final dry = extend(copy(arguments), {dry_run: true})
    worktree.Ask(tree, 'restore', dry, (planned) => {
      final change = get(planned.changed, 0, {})
      final line = worktree.LineOf(here)
      final hunk = HunkAt(change, line)
      if empty(hunk)
        throw 'boocode: line ' .. line .. ' is as it was ' .. side .. ' that turn'
      endif
      final old = split(hunk.old_text, "\n")->map((_, text) => '  -' .. text)
      final new = split(hunk.new_text, "\n")->map((_, text) => '  +' .. text)
      final title = 'Restore this hunk to ' .. SIDES[side] .. '? ' .. LabelOf(turn)
      if ChooseWord(join([title] + old + new + [UNDO .. '.'], "\n"), ['Yes']) == ''
        task.Finish()
        return
      endif
      RefuseUnsaved(tree, [change])
      final part = {hunk: [hunk.number], expect: change.version}
      worktree.Ask(tree, 'restore', extend(arguments, part), (answer) => {
        worktree.FillBuffers(tree, answer.changed)
        Report(tree, answer.changed, 'restored a hunk of')
      })
    })
  })
enddef

# Take a turn back, or pick it, once the user has seen what would change; what others wrote since
# stays, in modified buffers, too.
def Merge(tree: dict<any>, turn: dict<any>, tool: string, arguments: dict<any>)
  final [question, nothing, done] = WORDS[tool]
  final Failed = (answer: dict<any>) => steps.Offer(answer, tool, arguments, (more) =>
    Merge(tree, turn, tool, more))
  final dry = {buffers: worktree.Unsaved(tree), dry_run: true}
  worktree.Ask(tree, tool, extend(dry, arguments), (planned) => {
    if empty(planned.changed)
      throw 'boocode: ' .. nothing
    endif
    final lines = [question .. LabelOf(turn)] + FileLines(planned.changed, '')
    if ChooseWord(join(lines + [UNDO .. '.'], "\n"), ['Yes']) == ''
      task.Finish()
      return
    endif
    worktree.Change(tree, tool, arguments, (answer, _) =>
      Report(tree, answer.changed, done), Failed)
  }, Failed)
enddef

# Choose a turn, and take it back.
export def Revert(tree: dict<any>)
  ChooseTurn(tree, 'Take back:', [], (turn) => Merge(tree, turn, 'revert', {turns: [turn.id]}))
enddef

# Choose a turn, and do here what it did.
export def Pick(tree: dict<any>)
  ChooseTurn(tree, 'Pick:', [], (turn) => Merge(tree, turn, 'pick', {turns: [turn.id]}))
enddef

# In the list of turns: act on the one under the cursor.
def AtCursor(action: string)
  final tree = b:boocode_tree
  final turn = get(b:boocode_turns, line('.') - 1, {})
  if empty(turn) && action == 'diff' && getline('.') == OLDER
    b:boocode_limit *= 4
    task.Run(() => RefreshLog(tree, task.Finish))
  endif
  if empty(turn)
    return
  endif
  if action == 'restore'
    task.Run(() => RestoreTo(tree, turn, {}, ['before', 'after']))
  elseif has_key(WORDS, action)
    task.Run(() => Merge(tree, turn, action, {turns: [turn.id]}))
  elseif action == 'diff' || bufwinid(DIFF_NAME) > 0 && b:boocode_shown != turn.id
    b:boocode_shown = turn.id
    task.Run(() => ShowDiff(tree, turn, task.Finish))
  endif
enddef

# Close the list of turns, and what one did.
def CloseLog()
  for name in [DIFF_NAME, LOG_NAME]
    if bufwinid(name) > 0
      win_execute(bufwinid(name), 'close')
    endif
  endfor
enddef

# Fill the list of turns; the cursor stays on its turn, if the list has the focus.
def FillLog(turns: list<any>)
  final buffer = bufnr(LOG_NAME)
  final shown = get(getbufvar(buffer, 'boocode_turns', []), line('.') - 1, {})
  var rows: list<string> = []
  var by_line: list<dict<any>> = []
  for turn in turns
    final side = get(turn, 'here', '')
    final here = side == '' ? [] : [HERE_INDENT .. YouAreHere(turn)]
    final above = side == 'before' ? [] : here
    final below = side == 'before' ? here : []
    rows += above + [DescribeTurn(turn)] + below
    by_line += above->mapnew((_, _) => ({})) + [turn] + below->mapnew((_, _) => ({}))
  endfor
  if len(turns) == getbufvar(buffer, 'boocode_limit')
    add(rows, OLDER)
  endif
  setbufvar(buffer, 'boocode_turns', by_line)
  SetLines(buffer, rows)
  final row = index(by_line->mapnew((_, turn) => get(turn, 'id')), get(shown, 'id', ''))
  if bufnr() == buffer && row >= 0
    cursor(row + 1, 1)
  endif
enddef

# Show the list of turns anew, if it is open.
export def RefreshLog(tree: dict<any>, Then: func)
  final buffer = bufnr(LOG_NAME)
  if buffer < 0 || getbufvar(buffer, 'boocode_tree', {top: ''}).top != tree.top
    Then()
    return
  endif
  worktree.Ask(tree, 'log', {max_count: getbufvar(buffer, 'boocode_limit')}, (answer) => {
    FillLog(WithHere(answer))
    Then()
  })
enddef

# The list of turns in a window: its keys show what the one under the cursor did, go back to it,
# take it back, or pick it.
export def Log(tree: dict<any>)
  ReadTurns(tree, [], FIRST_PAGE, (turns) => {
    CloseLog()
    silent botright new
    setlocal buftype=nofile bufhidden=wipe noswapfile nowrap cursorline filetype=boocode-log
    execute 'silent file' LOG_NAME
    b:boocode_tree = tree
    b:boocode_limit = FIRST_PAGE
    b:boocode_shown = ''
    FillLog(turns)
    cursor(empty(b:boocode_turns[0]) ? 2 : 1, 1)
    nnoremap <buffer> <nowait> <CR> <ScriptCmd>AtCursor('diff')<CR>
    nnoremap <buffer> <nowait> r <ScriptCmd>AtCursor('restore')<CR>
    nnoremap <buffer> <nowait> t <ScriptCmd>AtCursor('revert')<CR>
    nnoremap <buffer> <nowait> p <ScriptCmd>AtCursor('pick')<CR>
    nnoremap <buffer> <nowait> q <ScriptCmd>CloseLog()<CR>
    autocmd CursorMoved <buffer> AtCursor('move')
    task.Finish()
  })
enddef
