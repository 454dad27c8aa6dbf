-- Commands run as coroutines, so that the editor never waits for an answer: a command that needs
-- one is continued when it comes. Commands run one after another, in the order of their beginning.

local M = {}

local queue = {} -- what may continue when no other command is in the middle of its work
local holder = nil -- the coroutine of the command that is
local count = 0 -- of the commands that have not ended

-- Show an error. A table has the steps that are possible as well.
local function show(problem)
  vim.notify("boocode: " .. tostring(problem), vim.log.levels.ERROR)
end

local next_in_queue

local function continue(routine, ...)
  holder = routine
  local succeeded, problem = coroutine.resume(routine, ...)
  if coroutine.status(routine) == "dead" then
    holder = nil
    count = count - 1
    if not succeeded then
      show(problem)
    end
    next_in_queue()
  end
end

next_in_queue = function()
  if holder == nil and #queue > 0 then
    continue(unpack(table.remove(queue, 1)))
  end
end

local function line_up(routine, ...)
  table.insert(queue, { routine, ... })
  next_in_queue()
end

-- A function that can be called once; later calls do nothing.
local function once(action)
  local is_done = false
  return vim.schedule_wrap(function(...)
    if not is_done then
      is_done = true
      action(...)
    end
  end)
end

-- A function that runs as a command, and that shows its errors instead of raising them.
function M.command(action)
  return function(...)
    count = count + 1
    line_up(coroutine.create(action), ...)
  end
end

-- In a command: call a function with another one, and continue when that is called. Other commands
-- begin only after this one.
function M.await(start)
  local routine = coroutine.running()
  start(once(function(...)
    continue(routine, ...)
  end))
  return coroutine.yield()
end

-- The same for what the user is asked, who may never answer: other commands go on meanwhile.
function M.await_user(start)
  local routine = coroutine.running()
  local go_on = once(function(...)
    line_up(routine, ...)
  end)
  start(go_on)
  vim.schedule(function()
    if holder == routine then
      holder = nil
      next_in_queue()
    end
  end)
  return coroutine.yield()
end

-- For scripts: wait until all commands have ended, at most some milliseconds. Returns whether they
-- have.
function M.wait(milliseconds)
  return (vim.wait(milliseconds or 120000, function()
    return count == 0
  end, 2))
end

return M
