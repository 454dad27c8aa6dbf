-- The next steps that the answer of a failed call names, offered to the user.

local task = require("boocode.task")
local M = {}

local default_select = vim.ui.select

-- Whether nobody could answer.
local function is_script()
  return #vim.api.nvim_list_uis() == 0 and vim.ui.select == default_select
end

-- The steps of a failed answer that are the same call with more arguments.
local function steps_of(problem, tool)
  local steps = type(problem) == "table" and problem.answer.error.next or {}
  return vim.tbl_filter(function(step)
    return (step.tool or tool) == tool and (step.arguments or vim.NIL) ~= vim.NIL
  end, steps)
end

-- These show what they would do before they do it, so a dry run is another call of the command.
local SHOWN_FIRST = { restore = true, revert = true, pick = true, undo = true, redo = true }

-- The arguments of a call of a tool with those of a step: null removes one, a list adds to one.
local function with_step(tool, arguments, step)
  local merged = vim.tbl_extend("force", {}, arguments)
  for name, value in pairs(step.arguments) do
    if value == vim.NIL or (name == "dry_run" and SHOWN_FIRST[tool]) then
      merged[name] = nil
    elseif type(value) == "table" and type(merged[name]) == "table" then
      merged[name] = vim.list_extend(vim.list_extend({}, merged[name]), value)
    else
      merged[name] = value
    end
  end
  return merged
end

-- Run an action that calls a tool, with its arguments. If it fails and the answer names arguments
-- with which it can be done, let the user choose one, and run it again.
function M.run(tool, arguments, action)
  while true do
    local succeeded, problem = pcall(action, arguments)
    if succeeded then
      return
    end
    local steps = steps_of(problem, tool)
    if #steps == 0 or is_script() then
      error(problem, 0)
    end
    local message = "boocode: " .. problem.answer.error.message
    vim.notify(message, vim.log.levels.ERROR)
    local chosen = task.await_user(function(choose)
      local options = {
        prompt = "boocode: do what instead?",
        format_item = function(step)
          return step.text
        end,
      }
      vim.ui.select(steps, options, choose)
    end)
    if not chosen then
      return
    end
    arguments = with_step(tool, arguments, chosen)
  end
end

return M
