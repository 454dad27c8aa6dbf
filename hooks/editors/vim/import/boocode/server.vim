vim9script
# The servers: one `git boocode serve` for each worktree, which reads and writes JSON-RPC 2.0,
# a message a line.

import './task.vim'

const SLOW = 5000 # milliseconds after which the user hears that there is no answer yet
const NO_ANSWER = {error: {message: 'git boocode gave no answer; is it in PATH?'}}
const CANCELLED = {error: {message: 'cancelled; nothing was changed'}}
const ENDED = {error: {message: 'the server was ended; :BoocodeStatus shows what is proposed'}}

# The tools that change nothing outside of `refs/boocode`, also if their answer is not heard.
const CAN_BE_CANCELLED = ['diff', 'log', 'preview', 'propose', 'show', 'status']

# Is called with the top of a worktree when its proposal has changed.
var OnChange: func = null_function

export def SetOnChange(Changed: func)
  OnChange = Changed
enddef

# The running servers, by the top of their worktree.
var running: dict<dict<any>> = {}

def Send(server: dict<any>, message: dict<any>)
  try
    ch_sendraw(server.job, json_encode(extend(copy(message), {jsonrpc: '2.0'})) .. "\n")
  catch /^Vim\%((\S\+)\)\=:E\%(630\|631\|906\)/
    # A server that has just ended cannot take it; there is no answer then.
  endtry
enddef

# Give a request its answer.
def Answer(server: dict<any>, id: string, message: dict<any>)
  if has_key(server.pending, id)
    final request = remove(server.pending, id)
    request.Respond(message)
  endif
enddef

def Read(server: dict<any>, line: string)
  final message = json_decode(line)
  if get(message, 'method', '') == 'notifications/resources/updated'
    OnChange(server.top)
  endif
  if has_key(message, 'method') || get(message, 'id', 0) == 0
    return
  endif
  # An answer without an id is for the oldest request.
  final oldest = keys(server.pending)->map((_, key) => str2nr(key))->min()
  Answer(server, string(message.id == null ? oldest : message.id), message)
enddef

def End(top: string, server: dict<any>)
  if get(running, top, {}) is server
    remove(running, top)
  endif
  for id in keys(server.pending)
    Answer(server, id, NO_ANSWER)
  endfor
enddef

def Start(top: string): dict<any>
  var server: dict<any> = {top: top, last_id: 0, pending: {}}
  server.job = job_start(['git', '-C', top, 'boocode', 'serve', '--repo', top], {
    mode: 'nl',
    noblock: 1,
    err_io: 'null',
    stoponexit: 'term',
    out_cb: (_, line) => Read(server, line),
    close_cb: (_) => End(top, server),
  })
  Send(server, {
    id: 0,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      clientInfo: {name: 'git-boocode.vim', version: '0.1.0'},
      capabilities: {experimental: {'git-boocode': {tools: 'editor'}}},
    },
  })
  if get(g:, 'boocode_watch', false)
    final params = {uri: 'boocode://proposals'}
    Send(server, {id: 0, method: 'resources/subscribe', params: params})
  endif
  return server
enddef

def SayThatItIsSlow(server: dict<any>, id: string)
  if has_key(server.pending, id)
    task.Notice('still waiting for git boocode; :BoocodeCancel gives up')
  endif
enddef

# Call a tool of a worktree's server; `Respond` gets the message that answers the call.
export def Call(top: string, tool: string, arguments: dict<any>, Respond: func)
  if !has_key(running, top)
    running[top] = Start(top)
  endif
  var server = running[top]
  if job_status(server.job) == 'fail'
    remove(running, top)
    Respond(NO_ANSWER)
    return
  endif
  server.last_id += 1
  final id = string(server.last_id)
  server.pending[id] = {
    tool: tool,
    can_be_cancelled: index(CAN_BE_CANCELLED, tool) >= 0 || get(arguments, 'dry_run', false),
    Respond: Respond,
  }
  final params = {name: tool, arguments: arguments}
  Send(server, {id: server.last_id, method: 'tools/call', params: params})
  timer_start(SLOW, (_) => SayThatItIsSlow(server, id))
enddef

# Cancel all requests; with `by_force`, end their servers. Returns the tools of those that cannot be
# cancelled, and the number of others.
export def Cancel(by_force: bool): list<any>
  var kept: list<string> = []
  var cancelled = 0
  for server in values(running)
    if by_force && !empty(server.pending)
      # Git runs it as a process of its own; one that is stopped ends by this signal only.
      job_stop(server.job, 'kill')
    endif
    for [id, request] in items(server.pending)
      if by_force || request.can_be_cancelled
        final params = {requestId: str2nr(id)}
        Send(server, {method: 'notifications/cancelled', params: params})
        Answer(server, id, request.can_be_cancelled ? CANCELLED : ENDED)
        cancelled += 1
      else
        add(kept, request.tool)
      endif
    endfor
  endfor
  if by_force
    filter(running, (_, server) => job_status(server.job) == 'run')
  endif
  return [kept, cancelled]
enddef
