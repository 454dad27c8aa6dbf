vim9script
# Defines the commands of git-boocode; `:help boocode` describes them.

if exists('g:loaded_boocode') || !has('vim9script') || !has('job') || v:version < 900
  finish
endif
g:loaded_boocode = true

import autoload 'boocode.vim' as client

const ACCEPTING = ['-n', '--dry-run', '--force', '--markers', '--merge', '--overwrite']
const RESTORING = ['--after', '--before', '--files-only']

def Accepting(typed: string, _: string, _: number): list<string>
  return ACCEPTING->filter((_, option) => stridx(option, typed) == 0)
enddef

def Restoring(typed: string, _: string, _: number): list<string>
  return RESTORING->filter((_, option) => stridx(option, typed) == 0)
enddef

command! -bar -nargs=* -complete=customlist,Accepting BoocodeAccept client.Accept([<f-args>])
command! -bar -nargs=* -complete=customlist,Accepting BoocodeAcceptAll client.AcceptAll([<f-args>])
command! -bar -nargs=* -complete=customlist,Accepting BoocodeAcceptHunk client.AcceptHunk([<f-args>])
command! -bar -bang -nargs=? BoocodeAsk client.Ask(<q-args>, <bang>false)
command! -bar -bang BoocodeCancel client.Cancel(<bang>false)
command! -bar -nargs=? BoocodeCheckpoint client.Checkpoint(<q-args>)
command! -bar BoocodeDiff client.Diff()
command! -bar -nargs=* BoocodeDiscard client.Discard([<f-args>])
command! -bar -nargs=* BoocodeDiscardAll client.DiscardAll([<f-args>])
command! -bar -nargs=* BoocodeDiscardHunk client.DiscardHunk([<f-args>])
command! -bar BoocodeList client.List()
command! -bar BoocodeLog client.Log()
command! -bar -count=1 BoocodeNext client.NextHunk(<count>)
command! -bar -count=1 BoocodePrevious client.PreviousHunk(<count>)
command! -bar -bang -nargs=? -range=0 -complete=file BoocodePropose
      \ client.ProposeFrom(<q-args>, <bang>false, <range>, <line1>, <line2>)
command! -bar BoocodeRedo client.Redo()
command! -bar -nargs=* -complete=customlist,Restoring BoocodeRestore client.Restore([<f-args>])
command! -bar -nargs=* -complete=customlist,Restoring BoocodeRestoreFile client.RestoreFile([<f-args>])
command! -bar -nargs=* -complete=customlist,Restoring BoocodeRestoreHunk client.RestoreHunk([<f-args>])
command! -bar BoocodeRevert client.Revert()
command! -bar BoocodePick client.Pick()
command! -bar BoocodeSigns client.Signs()
command! -bar BoocodeStatus client.Status()
command! -bar BoocodeUndo client.Undo()
