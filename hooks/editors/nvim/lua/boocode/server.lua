-- The servers: one `git boocode serve` for each worktree, which reads and writes JSON-RPC 2.0,
-- a message a line.

local M = {}

local PATIENCE = 120000 -- milliseconds to wait for an answer
local NO_ANSWER = { error = { message = "git boocode gave no answer; is it in PATH?" } }

-- The running servers, by the top of their worktree.
local running = {}

local function send(server, id, method, params)
  local message = { jsonrpc = "2.0", id = id, method = method, params = params }
  -- A server that has just ended cannot take it; there is no answer then.
  pcall(vim.fn.chansend, server.job, vim.json.encode(message) .. "\n")
end

local function start(top)
  local server = { last_id = 0, output = "", has_ended = false }
  local command = { "git", "-C", top, "boocode", "serve", "--repo", top }
  server.job = vim.fn.jobstart(command, {
    on_stdout = function(_, pieces)
      server.output = server.output .. table.concat(pieces, "\n")
    end,
    on_exit = function()
      server.has_ended = true
      running[top] = nil
    end,
  })
  send(server, 0, "initialize", {
    protocolVersion = "2025-11-25",
    clientInfo = { name = "git-boocode.nvim", version = "0.1.0" },
    capabilities = { experimental = { ["git-boocode"] = { tools = "editor" } } },
  })
  return server
end

-- The whole line that answers a request. Its id is null if the server could not read the request.
local function answer_line(server, id)
  local pattern = '{"jsonrpc":"2.0","id":%s,[^\n]*\n'
  return server.output:match(pattern:format(id)) or server.output:match(pattern:format("null"))
end

-- Call a tool of a worktree's server, and return the message that answers the call.
function M.call(top, tool, arguments)
  local server = running[top] or start(top)
  running[top] = server
  server.last_id = server.last_id + 1
  -- What was answered before is not needed any more; the last line may be incomplete.
  server.output = server.output:match("[^\n]*$")

  local id = server.last_id
  send(server, id, "tools/call", { name = tool, arguments = arguments })
  local is_over = vim.wait(PATIENCE, function()
    return answer_line(server, id) ~= nil or server.has_ended
  end, 1)
  if not is_over then
    vim.fn.jobstop(server.job)
  end

  local line = answer_line(server, id)
  if not line then
    return NO_ANSWER
  end
  return vim.json.decode(line, { luanil = { object = true } })
end

return M
