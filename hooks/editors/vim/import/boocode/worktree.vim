vim9script
# Worktrees: which buffers show their files, what the server says about those, and how the buffers
# get its texts.

import './server.vim'
import './task.vim'

const ENDINGS = {unix: "\n", dos: "\r\n", mac: "\r"}
const BYTE_ORDER_MARK = "\uFEFF"
const ATTEMPTS = 2
const NOTHING_DONE = 'the text changed meanwhile; nothing was done, run the command again'
const BUFFERS_LEFT = 'the text changed meanwhile, the buffers were left; :BoocodeUndo takes it back'

# The answer to the last edit that was refused; `id` names it for the next try.
export var refused: dict<any> = {}

prop_type_delete('boocode_place')
prop_type_add('boocode_place', {})
var last_place = 0

# The place of the cursor, which stays in the text while a command waits. In a window of
# `:BoocodeDiff`, the buffer is that of the file, and `in_output` is the line in the proposed text.
export def Here(): dict<any>
  # Commands of `-c` run at line 0.
  final line = max([line('.'), 1])
  if exists('b:boocode_file')
    return {buffer: b:boocode_file, in_output: line}
  endif
  last_place += 1
  if &l:modifiable
    if task.IsIdle()
      prop_remove({type: 'boocode_place', all: true})
    endif
    prop_add(line, 1, {type: 'boocode_place', id: last_place})
  endif
  return {buffer: bufnr(), id: last_place, line: line}
enddef

# The line of a place now.
export def LineOf(here: dict<any>): number
  final given = {bufnr: here.buffer, end_lnum: -1, ids: [here.id], types: ['boocode_place']}
  final found = prop_list(1, given)
  return empty(found) ? here.line : found[0].lnum
enddef

# The path of a buffer's file below a worktree; empty if it shows no file there.
def PathBelow(top: string, buffer: number): string
  final name = bufname(buffer)
  if empty(name) || getbufvar(buffer, '&buftype') != ''
    return ''
  endif
  final path = resolve(fnamemodify(name, ':p'))
  final is_below = stridx(path, top) == 0 && stridx(path, '/.git/') < 0
  return is_below ? strpart(path, len(top)) : ''
enddef

# The worktree of a place, and the path of its file there, empty if it is none.
export def Of(here: dict<any>): list<any>
  final name = bufname(here.buffer)
  final is_file = name != '' && getbufvar(here.buffer, '&buftype') == ''
  final directory = is_file ? fnamemodify(name, ':p:h') : getcwd()
  final git = 'git -C ' .. shellescape(directory) .. ' rev-parse --show-toplevel 2>/dev/null'
  final top = system(git)->substitute('\n$', '/', '')
  if v:shell_error != 0
    throw 'boocode: ' .. directory .. ' is not in a worktree of git'
  endif
  return [{top: top}, PathBelow(top, here.buffer)]
enddef

# The same of a file in the worktree.
export def FileAt(here: dict<any>): list<any>
  final [tree, path] = Of(here)
  if path == ''
    throw 'boocode: this buffer is not a file of ' .. tree.top
  endif
  return [tree, path]
enddef

# The loaded buffers of a worktree, by path.
export def Buffers(tree: dict<any>): dict<number>
  var found: dict<number> = {}
  for info in getbufinfo({bufloaded: 1})
    final path = PathBelow(tree.top, info.bufnr)
    if path != ''
      found[path] = info.bufnr
    endif
  endfor
  return found
enddef

# What `:write` would write, without the newline that 'fixendofline' would add.
def TextOf(buffer: number): string
  var lines = getbufline(buffer, 1, '$')
  final is_empty = lines == ['']
  if getbufvar(buffer, '&endofline') && !is_empty
    add(lines, '')
  endif
  if getbufvar(buffer, '&bomb')
    lines[0] = BYTE_ORDER_MARK .. lines[0]
  endif
  return join(lines, ENDINGS[getbufvar(buffer, '&fileformat')])
enddef

# The texts of the buffers with unsaved changes, by path.
export def Unsaved(tree: dict<any>): dict<string>
  return Buffers(tree)
    ->filter((_, buffer) => getbufvar(buffer, '&modified'))
    ->mapnew((_, buffer) => TextOf(buffer))
enddef

# The message of a failed answer, and what is possible next, which steps say in words of their own.
export def Describe(answer: dict<any>): string
  final steps = get(answer.error, 'next', [])
  final hints = empty(steps)
    ? split(get(answer.error, 'hint', ''), "\n")
    : steps->mapnew((_, step) => step.text)
  final lines = [answer.error.message] + hints->mapnew((_, hint) => 'hint: ' .. hint)
  return 'boocode: ' .. join(lines, "\n")
enddef

# Call a tool, and then `Then` with its answer, or if it failed, `Failed`. By default, that is an
# error with its message and its hints.
export def Ask(
    tree: dict<any>,
    tool: string,
    arguments: dict<any>,
    Then: func,
    Failed: func = null_function)
  server.Call(tree.top, tool, arguments, (message: dict<any>) => task.Step(() => {
    final answer = get(get(message, 'result', {}), 'structuredContent', message)
    if has_key(answer, 'retry_context')
      refused = answer
    endif
    if get(answer, 'ok', false)
      Then(answer)
    elseif Failed != null_function
      Failed(answer)
    else
      throw Describe(answer)
    endif
  }))
enddef

# Whether the buffers of some files, by default of all, are as they were. One that was opened since
# has what was on disk.
def AreSame(tree: dict<any>, versions: dict<number>, files: list<any> = null_list): bool
  var changed: list<string> = []
  for [path, buffer] in items(Buffers(tree))
    final version = get(versions, path, -1)
    final is_new = version < 0
    if is_new ? getbufvar(buffer, '&modified') : version != getbufvar(buffer, 'changedtick')
      add(changed, path)
    endif
  endfor
  if files == null_list
    return empty(changed)
  endif
  for file in files
    if index(changed, file.path) >= 0 || index(changed, get(file, 'from', '')) >= 0
      return false
    endif
  endfor
  return true
enddef

# Undo or redo what a checkpoint recorded, unless something else was done since; then the answer is
# empty.
export def StepBack(tree: dict<any>, tool: string, checkpoint: string, Then: func)
  Ask(tree, tool, {expect: checkpoint}, Then, (answer) => {
    if index(['stale', 'not_found', 'invalid_input'], answer.error.code) < 0
      throw Describe(answer)
    endif
    Then({})
  })
enddef

# Let a tool change files and buffers, all or none. If a buffer changes while the server computes,
# it computes again with the new text; if it changes while the server writes, that is taken back.
# `Then` gets the answer, and what was done to buffers, and `Failed` an answer with an error.
export def Change(
    tree: dict<any>,
    tool: string,
    arguments: dict<any>,
    Then: func,
    Failed: func)
  Attempt(1, tree, tool, arguments, Then, Failed)
enddef

def Attempt(
    number: number,
    tree: dict<any>,
    tool: string,
    arguments: dict<any>,
    Then: func,
    Failed: func)
  final versions = Buffers(tree)->mapnew((_, buffer) => getbufvar(buffer, 'changedtick'))
  final more = {buffers: Unsaved(tree), position_encoding: 'utf-8'}
  final given = extend(copy(arguments), more)
  Ask(tree, tool, extend(copy(given), {dry_run: true}), (_) => {
    if !AreSame(tree, versions)
      if number < ATTEMPTS
        Attempt(number + 1, tree, tool, arguments, Then, Failed)
      else
        Failed({error: {message: NOTHING_DONE}})
      endif
      return
    endif
    Ask(tree, tool, given, (answer) => {
      final files = get(answer, 'files', get(answer, 'changed', []))
      if AreSame(tree, versions, files)
        Then(answer, FillBuffers(tree, files))
        return
      endif
      StepBack(tree, 'undo', answer.undo, (undone) => {
        Failed({error: {message: empty(undone) ? BUFFERS_LEFT : NOTHING_DONE}})
      })
    }, Failed)
  }, Failed)
enddef

# Replace lines of a buffer by others, so that marks and signs of the lines stay.
def ReplaceLines(buffer: number, first: number, last: number, lines: list<string>)
  final count = last - first + 1
  final common = min([count, len(lines)])
  if common > 0
    setbufline(buffer, first, lines[: common - 1])
  endif
  if len(lines) > count
    appendbufline(buffer, first + common - 1, lines[common :])
  elseif count > common
    deletebufline(buffer, first + common, last)
  endif
enddef

def ApplyEdit(buffer: number, edit: dict<any>)
  final [start, end] = [edit.range.start, edit.range.end]
  final old = getbufline(buffer, start.line + 1, end.line + 1)
  final is_at_end = len(old) <= end.line - start.line
  final prefix = empty(old) ? '' : strpart(old[0], 0, start.character)
  final suffix = is_at_end ? '' : strpart(old[-1], end.character)
  var lines = split(prefix .. substitute(edit.newText, '\r\n', '\n', 'g') .. suffix, '\n', 1)
  if is_at_end && lines[-1] == ''
    remove(lines, -1)
  endif
  ReplaceLines(buffer, start.line + 1, start.line + len(old), lines)
enddef

# Change a buffer by text edits, which keep cursor and marks, to a text.
export def SetText(buffer: number, text: string, text_edits: list<any>)
  for edit in reverse(copy(text_edits))
    ApplyEdit(buffer, edit)
  endfor
  # A final newline that came or went is no change of a line.
  final ending = ENDINGS[getbufvar(buffer, '&fileformat')]
  var lines = split(substitute(text, '^' .. BYTE_ORDER_MARK, '', ''), ending, 1)
  final has_final_newline = lines[-1] == ''
  setbufvar(buffer, '&endofline', has_final_newline)
  if has_final_newline && len(lines) > 1
    remove(lines, -1)
  endif
  if lines != getbufline(buffer, 1, '$')
    ReplaceLines(buffer, 1, getbufinfo(buffer)[0].linecount, lines)
  endif
enddef

# Where the current buffer is in its history of changes.
export def Sequence(): number
  return undotree().seq_cur
enddef

# What is changed in the current buffer until the next call is one step of `u`.
def BreakUndo()
  &g:undolevels = &g:undolevels
enddef

def ReadAgain(buffer: number, is_new: bool)
  final window = bufwinid(buffer)
  if is_new && window > 0 && !getbufvar(buffer, '&modified')
    win_execute(window, 'silent edit')
    return
  endif
  final autoread = getbufvar(buffer, '&autoread')
  setbufvar(buffer, '&autoread', true)
  execute 'silent checktime ' .. buffer
  if bufexists(buffer)
    setbufvar(buffer, '&autoread', autoread)
  endif
enddef

# Give the buffers of changed files their new texts: those of unsaved ones are in the answer, the
# others are read again. Returns what was done to each: buffer, and of the current one the history.
export def FillBuffers(tree: dict<any>, files: list<any>): list<any>
  final buffers = Buffers(tree)
  var filled: list<any> = []
  for file in files
    final buffer = get(buffers, file.path, 0)
    if buffer == 0
      continue
    endif
    final before = Sequence()
    final in_buffer = has_key(file, 'text') && file.text != null
    if in_buffer
      BreakUndo()
      SetText(buffer, file.text, file.text_edits)
      BreakUndo()
    else
      ReadAgain(buffer, file.action == 'create')
    endif
    add(filled, {
      buffer: buffer,
      in_buffer: in_buffer,
      is_current: buffer == bufnr(),
      before: before,
      after: Sequence(),
    })
  endfor
  return filled
enddef
