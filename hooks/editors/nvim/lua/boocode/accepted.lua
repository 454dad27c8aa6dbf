-- What was accepted into unsaved buffers: `u` gives it back to the proposal, and Ctrl-R takes it
-- out again, because the server's undo knows nothing of that of a buffer.

local proposal = require("boocode.proposal")
local task = require("boocode.task")
local worktree = require("boocode.worktree")

local M = {}

-- By the top of a worktree, oldest first: the checkpoint that `undo` or `redo` steps back to, what
-- was done to buffers, whether it is undone, and what was accepted, in words.
local records = {}

-- Whether the text is only in one buffer, so that both histories are one.
local function is_in_one_buffer(record)
  return #record.filled == 1 and record.filled[1].in_buffer and record.is_alone
end

-- The newest record that is not undone, or the oldest of those that are.
local function at_the_turn(list, is_undone)
  local found
  for _, record in ipairs(list) do
    if record.is_undone == is_undone and not (is_undone and found) then
      found = record
    end
  end
  return found
end

-- What a record did to a buffer; nil if nothing.
local function filled_in(record, buffer)
  for _, filled in ipairs(record and record.filled or {}) do
    if filled.buffer == buffer then
      return filled
    end
  end
  return nil
end

local function forget(tree, record)
  records[tree.top] = vim.tbl_filter(function(each)
    return each ~= record
  end, records[tree.top])
end

-- The record that a buffer has gone back before, or forth to, by its own history, and the tool that
-- follows it; nil if there is none.
local function due(tree, buffer)
  local sequence = worktree.sequence(buffer)
  local record = at_the_turn(records[tree.top], false)
  local filled = filled_in(record, buffer)
  if filled and sequence <= filled.before then
    return record, "undo"
  end
  record = at_the_turn(records[tree.top], true)
  filled = filled_in(record, buffer)
  if filled and sequence == filled.after then
    return record, "redo"
  end
  return nil
end

local function notice(text)
  vim.notify("boocode: " .. text)
end

-- Step the proposal back, or forth again, with the buffer.
local function follow(tree, record, tool)
  if not is_in_one_buffer(record) then
    forget(tree, record)
    notice(record.what .. " stays accepted; :BoocodeUndo takes it back")
    return
  end
  local answer = worktree.step_back(tree, tool, record.checkpoint)
  if not answer then
    forget(tree, record)
    notice(record.what .. " stays accepted, because something else was done since")
    return
  end
  record.is_undone = tool == "undo"
  record.checkpoint = answer.undo
  proposal.refresh(tree)
  notice(record.is_undone and record.what .. " is proposed again" or "accepted " .. record.what)
end

local follow_all = task.command(function(tree, buffer)
  local record, tool = due(tree, buffer)
  while record do
    follow(tree, record, tool)
    if not vim.api.nvim_buf_is_loaded(buffer) then
      return
    end
    record, tool = due(tree, buffer)
  end
end)

local attached = {}

local function attach(tree, buffer)
  if attached[buffer] then
    return
  end
  attached[buffer] = vim.api.nvim_buf_attach(buffer, false, {
    on_lines = function()
      vim.schedule(function()
        if vim.api.nvim_buf_is_loaded(buffer) and due(tree, buffer) then
          follow_all(tree, buffer)
        end
      end)
    end,
    on_detach = function()
      attached[buffer] = nil
    end,
  })
end

-- Remember what an accept has done to buffers.
function M.remember(tree, answer, filled, what)
  local list = vim.tbl_filter(function(record)
    return not record.is_undone
  end, records[tree.top] or {})
  records[tree.top] = list
  table.insert(list, {
    checkpoint = answer.undo,
    filled = filled,
    is_alone = #answer.files == #filled,
    is_undone = false,
    what = what,
  })
  for _, each in ipairs(filled) do
    attach(tree, each.buffer)
  end
end

-- After an undo or a redo of the server: take the text of a buffer back, or forth, too, if nothing
-- was typed since. Returns whether it did, nil if no buffer had it.
function M.followed_by_buffer(tree, tool, stepped)
  local is_undo = tool == "undo"
  local record = at_the_turn(records[tree.top] or {}, not is_undo)
  if not record or record.checkpoint ~= stepped.checkpoint_id or not is_in_one_buffer(record) then
    return nil
  end
  record.is_undone = is_undo
  record.checkpoint = stepped.undo
  local filled = record.filled[1]
  local from = is_undo and filled.after or filled.before
  local to = is_undo and filled.before or filled.after
  if
    not vim.api.nvim_buf_is_loaded(filled.buffer)
    or worktree.sequence(filled.buffer) ~= from
  then
    return false
  end
  vim.api.nvim_buf_call(filled.buffer, function()
    vim.cmd("silent undo " .. to)
  end)
  return true
end

return M
