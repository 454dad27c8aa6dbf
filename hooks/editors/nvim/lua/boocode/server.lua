-- The servers: one `git boocode serve` for each worktree, which reads and writes JSON-RPC 2.0,
-- a message a line.

local M = {}

local SLOW = 5000 -- milliseconds after which the user hears that there is no answer yet
local NO_ANSWER = { error = { message = "git boocode gave no answer; is it in PATH?" } }
local CANCELLED = { error = { message = "cancelled; nothing was changed" } }
local ENDED = { error = { message = "the server was ended; :BoocodeStatus shows what is proposed" } }

-- The tools that change nothing outside of `refs/boocode`, also if their answer is not heard.
local CAN_BE_CANCELLED = {
  diff = true,
  log = true,
  preview = true,
  propose = true,
  show = true,
  status = true,
}

-- Is called with the top of a worktree when its proposal has changed; set by the module of the
-- commands.
M.on_change = nil

-- The running servers, by the top of their worktree.
local running = {}

local function send(server, message)
  message.jsonrpc = "2.0"
  -- A server that has just ended cannot take it; there is no answer then.
  pcall(vim.fn.chansend, server.job, vim.json.encode(message) .. "\n")
end

-- Give a request its answer. One without an id is for the oldest request.
local function answer(server, id, message)
  if id == nil then
    id = vim.fn.min(vim.tbl_keys(server.pending))
  end
  local request = server.pending[id]
  if request then
    server.pending[id] = nil
    request.respond(message)
  end
end

-- An answer without its nulls, except those of the arguments of next steps, which remove one.
local function decode(line)
  local message = vim.json.decode(line, { luanil = { object = true } })
  local problem = vim.tbl_get(message, "result", "structuredContent", "error")
  if problem and problem.next then
    problem.next = vim.json.decode(line).result.structuredContent.error.next
  end
  return message
end

local function read(server, pieces)
  pieces[1] = server.partial .. pieces[1]
  server.partial = table.remove(pieces)
  for _, line in ipairs(pieces) do
    local message = decode(line)
    if message.method == "notifications/resources/updated" then
      M.on_change(server.top)
    elseif message.id ~= 0 and message.method == nil then
      answer(server, message.id, message)
    end
  end
end

local function start(top)
  local server = { top = top, last_id = 0, partial = "", pending = {} }
  local command = { "git", "-C", top, "boocode", "serve", "--repo", top }
  local started, job = pcall(vim.fn.jobstart, command, {
    on_stdout = function(_, pieces)
      read(server, pieces)
    end,
    on_exit = function()
      if running[top] == server then
        running[top] = nil
      end
      for _, id in ipairs(vim.tbl_keys(server.pending)) do
        answer(server, id, NO_ANSWER)
      end
    end,
  })
  server.job = started and job or 0
  send(server, {
    id = 0,
    method = "initialize",
    params = {
      protocolVersion = "2025-11-25",
      clientInfo = { name = "git-boocode.nvim", version = "0.1.0" },
      capabilities = { experimental = { ["git-boocode"] = { tools = "editor" } } },
    },
  })
  if vim.g.boocode_watch then
    local params = { uri = "boocode://proposals" }
    send(server, { id = 0, method = "resources/subscribe", params = params })
  end
  return server
end

local function say_that_it_is_slow(server, id)
  vim.defer_fn(function()
    if server.pending[id] then
      vim.notify("boocode: still waiting for git boocode; :BoocodeCancel gives up")
    end
  end, SLOW)
end

-- Call a tool of a worktree's server; `respond` gets the message that answers the call.
function M.call(top, tool, arguments, respond)
  local server = running[top] or start(top)
  if server.job <= 0 then
    return respond(NO_ANSWER)
  end
  running[top] = server
  server.last_id = server.last_id + 1
  local id = server.last_id
  server.pending[id] = {
    tool = tool,
    can_be_cancelled = CAN_BE_CANCELLED[tool] or arguments.dry_run,
    respond = respond,
  }
  -- An empty table would be an empty list.
  local given = next(arguments) and arguments or vim.empty_dict()
  send(server, { id = id, method = "tools/call", params = { name = tool, arguments = given } })
  say_that_it_is_slow(server, id)
end

-- Cancel all requests; with `by_force`, end their servers. Returns the tools of those that cannot
-- be cancelled, and the number of others.
function M.cancel(by_force)
  local kept, cancelled = {}, 0
  for _, server in pairs(vim.tbl_extend("force", {}, running)) do
    local requests = vim.tbl_extend("force", {}, server.pending)
    if by_force and next(requests) then
      -- Git runs it as a process of its own; one that is stopped ends by this signal only.
      vim.loop.kill(-vim.fn.jobpid(server.job), "sigkill")
    end
    for id, request in pairs(requests) do
      if by_force or request.can_be_cancelled then
        send(server, { method = "notifications/cancelled", params = { requestId = id } })
        answer(server, id, request.can_be_cancelled and CANCELLED or ENDED)
        cancelled = cancelled + 1
      else
        table.insert(kept, request.tool)
      end
    end
  end
  return kept, cancelled
end

return M
