vim9script
# What is proposed: signs in the buffers, the hunk at a place, the list, and the compared text.

import './task.vim'
import './worktree.vim'

const ATTEMPTS = 3
const GROUP = 'boocode'
const LIST_TITLE = 'git boocode: proposed'

sign_define([
  {name: 'BoocodeAdd', text: '+', texthl: 'DiffAdd'},
  {name: 'BoocodeChange', text: '~', texthl: 'DiffChange'},
  {name: 'BoocodeDelete', text: '-', texthl: 'DiffDelete'},
])

# What the user sees in each buffer: the preview, whose hunks have the ids of their signs.
var shown: dict<dict<any>> = {}
# The proposal that was shown last, by the top of its worktree.
var latest: dict<any> = {}

def Clear(buffer: number)
  sign_unplace(GROUP, {buffer: buffer})
  if has_key(shown, buffer)
    remove(shown, buffer)
  endif
enddef

# An insertion has its sign at the line below.
def SignOf(hunk: dict<any>): string
  if hunk.old_text == ''
    return 'BoocodeAdd'
  endif
  return hunk.new_text == '' ? 'BoocodeDelete' : 'BoocodeChange'
enddef

def PlaceSigns(buffer: number, preview: dict<any>)
  Clear(buffer)
  shown[buffer] = preview
  final last_line = getbufinfo(buffer)[0].linecount
  for hunk in preview.hunks
    final first = min([hunk.start_line, last_line])
    hunk.signs = range(first, max([first, hunk.end_line]))->mapnew((_, line) =>
      sign_place(0, GROUP, SignOf(hunk), buffer, {lnum: line}))
  endfor
enddef

# The buffer of `:BoocodeDiff` of a buffer; 0 if there is none.
def ComparedBuffer(buffer: number): number
  for info in getbufinfo({bufloaded: 1})
    if get(info.variables, 'boocode_file', 0) == buffer
      return info.bufnr
    endif
  endfor
  return 0
enddef

def Fill(output: number, text: string)
  setbufvar(output, '&modifiable', true)
  worktree.SetText(output, text, [])
  setbufvar(output, '&modifiable', false)
  setbufvar(output, '&modified', false)
enddef

def UpdateCompared(buffer: number, preview: dict<any>)
  final output = ComparedBuffer(buffer)
  if output == 0
    return
  endif
  if empty(get(preview, 'hunks', []))
    execute 'bwipeout!' output
  else
    Fill(output, preview.text ?? '')
  endif
enddef

# Ask for the preview of a buffer's file, until the buffer is as it was when asked for. `Then` gets
# an empty preview if it never is.
def PreviewOf(
    tree: dict<any>, path: string, buffer: number, Then: func, number: number = 1)
  final version = getbufvar(buffer, 'changedtick')
  final arguments = {path: path, buffers: worktree.Unsaved(tree)}
  worktree.Ask(tree, 'preview', arguments, (preview) => {
    if version == getbufvar(buffer, 'changedtick')
      Then(preview)
    elseif number < ATTEMPTS && bufloaded(buffer)
      PreviewOf(tree, path, buffer, Then, number + 1)
    else
      Then({})
    endif
  })
enddef

# Call a function with each item and with what goes on to the next one, and at last `Then`.
def ForEach(items: list<any>, Each: func, Then: func)
  if empty(items)
    Then()
    return
  endif
  Each(items[0], () => ForEach(items[1 :], Each, Then))
enddef

def ShowIn(tree: dict<any>, path: string, buffer: number, is_proposed: bool, Then: func)
  if !is_proposed
    Clear(buffer)
    UpdateCompared(buffer, {})
    Then()
    return
  endif
  PreviewOf(tree, path, buffer, (preview) => {
    if empty(preview)
      Clear(buffer)
    else
      PlaceSigns(buffer, preview)
    endif
    UpdateCompared(buffer, preview)
    Then()
  })
enddef

# Show a sign at each line that the proposal changes, in all buffers of a worktree. `Then` gets the
# files of the proposal, and its id.
export def Refresh(tree: dict<any>, Then: func)
  worktree.Ask(tree, 'status', {buffers: worktree.Unsaved(tree)}, (answer) => {
    final files = copy(answer.files)->filter((_, file) => file.status != '')
    latest[tree.top] = answer.proposal
    var proposed: list<string> = []
    for file in files
      proposed += [file.path, get(file, 'from', file.path)]
    endfor
    ForEach(items(worktree.Buffers(tree)), (item, Next) => {
      ShowIn(tree, item[0], item[1], index(proposed, item[0]) >= 0, Next)
    }, () => Then(files, answer.proposal))
  })
enddef

# The id of the proposal that was shown last; null if none was.
export def Latest(tree: dict<any>): any
  return get(latest, tree.top, null)
enddef

# What is shown in a buffer; empty if nothing is.
export def Shown(buffer: number): dict<any>
  return get(shown, buffer, {})
enddef

# The number of the hunk at a place; 0 if the place has no sign.
export def HunkAt(here: dict<any>): number
  final hunks = get(Shown(here.buffer), 'hunks', [])
  if has_key(here, 'in_output')
    for hunk in hunks
      final last = max([hunk.new_start_line, hunk.new_end_line])
      if hunk.new_start_line <= here.in_output && here.in_output <= last
        return hunk.number
      endif
    endfor
    return 0
  endif
  final line = worktree.LineOf(here)
  for sign in sign_getplaced(here.buffer, {group: GROUP, lnum: line})[0].signs
    for hunk in hunks
      if index(hunk.signs, sign.id) >= 0
        return hunk.number
      endif
    endfor
  endfor
  return 0
enddef

# The first lines of the hunks that are shown in the current buffer, in order.
def FirstLines(): list<number>
  var lines: list<number> = []
  for hunk in get(Shown(bufnr()), 'hunks', [])
    for id in hunk.signs[: 0]
      final placed = sign_getplaced('', {group: GROUP, id: id})[0].signs
      if !empty(placed)
        add(lines, placed[0].lnum)
      endif
    endfor
  endfor
  return sort(lines, 'n')
enddef

# Move the cursor to the next hunk, or to the one before it.
export def Jump(is_forwards: bool, count: number)
  final here = line('.')
  final lines = is_forwards
    ? FirstLines()->filter((_, line) => line > here)
    : FirstLines()->filter((_, line) => line < here)->reverse()
  if empty(lines)
    throw 'boocode: no more hunks in this file; :BoocodeList lists all'
  endif
  normal! m'
  cursor(lines[min([count, len(lines)]) - 1], 1)
  normal! ^
enddef

# The first line of what a hunk does, as a diff has it.
def Excerpt(hunk: dict<any>): string
  final is_deletion = hunk.new_text == ''
  final text = is_deletion ? hunk.old_text : hunk.new_text
  return (is_deletion ? '-' : '+') .. matchstr(text, '^[^\r\n]*')
enddef

def Entries(tree: dict<any>, file: dict<any>, preview: dict<any>): list<dict<any>>
  final name = tree.top .. file.path
  if empty(preview.hunks)
    return [{filename: name, lnum: 1, text: file.status .. ' ' .. get(preview, 'warning', '')}]
  endif
  return preview.hunks->mapnew((_, hunk) => ({
    filename: name,
    lnum: max([hunk.start_line, 1]),
    text: file.status .. ' ' .. Excerpt(hunk),
  }))
enddef

# While the list is the current one, the files that are opened from it have signs.
var listed: dict<any> = {}

def ShowSignsOfListed()
  if !empty(listed) && getqflist({title: 1}).title == LIST_TITLE
    task.Run(() => Refresh(listed, (_, _) => task.Finish()))
  endif
enddef

augroup boocode_list
  autocmd!
  autocmd BufReadPost,BufNewFile * ShowSignsOfListed()
augroup END

# Fill the quickfix list with the hunks of all proposed files.
export def List(tree: dict<any>)
  var entries: list<dict<any>> = []
  Refresh(tree, (files, _) => ForEach(files, (file, Next) => {
    final arguments = {path: file.path, buffers: worktree.Unsaved(tree)}
    worktree.Ask(tree, 'preview', arguments, (preview) => {
      entries += Entries(tree, file, preview)
      Next()
    })
  }, () => {
    if empty(entries)
      throw 'boocode: nothing is proposed'
    endif
    setqflist([], ' ', {title: LIST_TITLE, items: entries})
    botright copen
    listed = tree
    task.Finish()
  }))
enddef

# Leave the comparison of a buffer, in all windows that show it.
export def EndComparison(buffer: number)
  for window in win_findbuf(buffer)
    win_execute(window, 'diffoff')
  endfor
enddef

def OpenComparison(buffer: number, path: string, text: string)
  win_gotoid(bufwinid(buffer))
  final [filetype, fileformat] = [&l:filetype, &l:fileformat]
  diffthis
  rightbelow vnew
  setlocal buftype=nofile bufhidden=wipe noswapfile
  b:boocode_file = buffer
  execute 'silent file' fnameescape('boocode://' .. path .. ' (proposed)')
  &l:filetype = filetype
  &l:fileformat = fileformat
  Fill(bufnr(), text)
  diffthis
  execute 'autocmd BufWipeout <buffer> call timer_start(0, (_) => EndComparison(' .. buffer .. '))'
  wincmd p
enddef

# Show the file of a place and what is proposed for it side by side. The comparison ends when its
# window is closed.
export def Compare(tree: dict<any>, path: string, buffer: number)
  PreviewOf(tree, path, buffer, (preview) => {
    if !empty(preview) && ComparedBuffer(buffer) == 0 && bufwinid(buffer) > 0
      PlaceSigns(buffer, preview)
      OpenComparison(buffer, path, preview.text ?? '')
      if has_key(preview, 'warning')
        task.Notice(preview.warning)
      endif
    endif
    task.Finish()
  })
enddef
