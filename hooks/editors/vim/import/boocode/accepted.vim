vim9script
# What was accepted into an unsaved buffer: `u` gives it back to the proposal, and Ctrl-R takes it
# out again, because the server's undo knows nothing of that of a buffer.

import './proposal.vim'
import './task.vim'
import './worktree.vim'

# By the top of a worktree, oldest first: the checkpoint that `undo` or `redo` steps back to, what
# was done to the buffer, whether it is undone, and what was accepted, in words.
var records: dict<list<dict<any>>> = {}

# The newest record that is not undone, or the oldest of those that are; empty if there is none.
def AtTheTurn(tree: dict<any>, is_undone: bool): dict<any>
  final found = get(records, tree.top, [])
    ->copy()
    ->filter((_, record) => record.is_undone == is_undone)
  return empty(found) ? {} : found[is_undone ? 0 : -1]
enddef

def Forget(tree: dict<any>, record: dict<any>)
  records[tree.top]->filter((_, each) => each isnot record)
enddef

# Step the proposal back, or forth again, with the buffer.
def Follow(tree: dict<any>, record: dict<any>, tool: string)
  worktree.StepBack(tree, tool, record.checkpoint, (answer) => {
    if empty(answer)
      Forget(tree, record)
      task.Notice(record.what .. ' stays accepted, because something else was done since')
      Check(tree)
      return
    endif
    record.is_undone = tool == 'undo'
    record.checkpoint = answer.undo
    task.Notice(record.is_undone
      ? record.what .. ' is proposed again'
      : 'accepted ' .. record.what)
    proposal.Refresh(tree, (_, _) => Check(tree))
  })
enddef

# Compare the history of the current buffer with what was accepted.
def Check(tree: dict<any>)
  final done = AtTheTurn(tree, false)
  final undone = AtTheTurn(tree, true)
  if get(done, 'buffer', 0) == bufnr() && worktree.Sequence() <= done.before
    if done.is_alone
      Follow(tree, done, 'undo')
    else
      Forget(tree, done)
      task.Notice(done.what .. ' stays accepted; :BoocodeUndo takes it back')
      task.Finish()
    endif
  elseif get(undone, 'buffer', 0) == bufnr() && worktree.Sequence() == undone.after
    Follow(tree, undone, 'redo')
  else
    task.Finish()
  endif
enddef

# The text of the current buffer has changed.
export def TextChanged()
  for top in keys(records)
    final [done, undone] = [AtTheTurn({top: top}, false), AtTheTurn({top: top}, true)]
    final is_back = get(done, 'buffer', 0) == bufnr() && worktree.Sequence() <= done.before
    final is_forth = get(undone, 'buffer', 0) == bufnr() && worktree.Sequence() == undone.after
    if is_back || is_forth
      task.Run(() => Check({top: top}))
    endif
  endfor
enddef

augroup boocode
  autocmd!
  autocmd TextChanged,TextChangedI * TextChanged()
augroup END

# Remember what an accept has done to the current buffer.
export def Remember(tree: dict<any>, answer: dict<any>, filled: list<any>, what: string)
  records[tree.top] = get(records, tree.top, [])->filter((_, record) => !record.is_undone)
  for each in filled
    if each.is_current
      add(records[tree.top], {
        checkpoint: answer.undo,
        buffer: each.buffer,
        before: each.before,
        after: each.after,
        is_alone: each.in_buffer && len(answer.files) == 1,
        is_undone: false,
        what: what,
      })
    endif
  endfor
enddef

# After an undo or a redo of the server: take the text of the buffer back, or forth, too, if nothing
# was typed since. Returns whether a buffer keeps its text.
export def FollowStep(tree: dict<any>, tool: string, stepped: dict<any>): bool
  final is_undo = tool == 'undo'
  var record = AtTheTurn(tree, !is_undo)
  if empty(record) || record.checkpoint != stepped.checkpoint_id || !record.is_alone
    return false
  endif
  record.is_undone = is_undo
  record.checkpoint = stepped.undo
  final [from, to] = is_undo ? [record.after, record.before] : [record.before, record.after]
  if record.buffer != bufnr() || worktree.Sequence() != from
    return true
  endif
  execute 'silent undo' to
  return false
enddef
