-- The next steps that the answer of a failed call names, offered to the user.

local task = require("boocode.task")
local worktree = require("boocode.worktree")

local M = {}

-- Run an action that calls a tool, with its arguments. If it fails and the answer names arguments
-- with which it can be done, let the user choose one, and run it again.
function M.run(tool, arguments, action)
  while true do
    local succeeded, problem = pcall(action, arguments)
    if succeeded then
      return
    end
    local steps = type(problem) == "table" and problem.answer.error.next or {}
    steps = vim.tbl_filter(function(step)
      return type(step) == "table" and (step.tool or tool) == tool and step.arguments ~= nil
    end, steps)
    if #steps == 0 then
      error(problem, 0)
    end
    local chosen = task.await_user(function(choose)
      local options = {
        prompt = "boocode: " .. problem.answer.error.message,
        format_item = function(step)
          return step.text
        end,
      }
      vim.ui.select(steps, options, choose)
    end)
    if not chosen then
      return
    end
    arguments = vim.tbl_extend("force", arguments, chosen.arguments)
  end
end


return M
