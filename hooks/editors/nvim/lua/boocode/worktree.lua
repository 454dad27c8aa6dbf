-- Worktrees: which buffers show their files, and what the server says about those.

local server = require("boocode.server")

local M = {}

local ENDINGS = { unix = "\n", dos = "\r\n", mac = "\r" }
local BYTE_ORDER_MARK = "\239\187\191"

-- The answer to the last edit that was refused; `id` names it for the next try.
M.refused = nil

-- The path of a buffer's file below a worktree; nil if it shows no file there.
local function path_below(top, buffer)
  local is_file = vim.bo[buffer.bufnr].buftype == ""
  local is_of_git = buffer.name:find("/.git/", 1, true) ~= nil
  if not is_file or is_of_git then
    return nil
  end
  local name = vim.fn.resolve(buffer.name)
  return vim.startswith(name, top) and name:sub(#top + 1) or nil
end

-- The worktree of the current buffer, with the loaded buffers by path; and the current path.
function M.current()
  local directory = vim.fn.expand("%:p:h")
  local top = vim.fn.system({ "git", "-C", directory, "rev-parse", "--show-toplevel" })
  if vim.v.shell_error > 0 then
    error(directory .. " is not in a worktree of git", 0)
  end
  top = top:gsub("\n$", "/")

  local buffers = {}
  for _, buffer in ipairs(vim.fn.getbufinfo({ bufloaded = 1 })) do
    local path = path_below(top, buffer)
    if path then
      buffers[path] = buffer.bufnr
    end
  end
  local path = vim.fn.resolve(vim.fn.expand("%:p")):sub(#top + 1)
  return { top = top, buffers = buffers }, path
end

-- What `:write` would write, without the newline that 'fixendofline' would add.
local function text_of(buffer)
  local options = vim.bo[buffer]
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
  local is_empty = #lines == 1 and lines[1] == ""
  if options.endofline and not is_empty then
    table.insert(lines, "")
  end
  if options.bomb then
    lines[1] = BYTE_ORDER_MARK .. lines[1]
  end
  return table.concat(lines, ENDINGS[options.fileformat])
end

-- The texts of the buffers with unsaved changes, by path.
function M.unsaved(tree)
  local texts = vim.empty_dict()
  for path, buffer in pairs(tree.buffers) do
    if vim.bo[buffer].modified then
      texts[path] = text_of(buffer)
    end
  end
  return texts
end

-- The answer of a tool. If it failed, this is an error with its message and its hints.
function M.ask(tree, tool, arguments)
  local message = server.call(tree.top, tool, arguments)
  local answer = (message.result or {}).structuredContent or message
  if answer.retry_context then
    M.refused = answer
  end
  if answer.ok then
    return answer
  end
  local lines = { answer.error.message }
  for _, hint in ipairs(vim.split(answer.error.hint or "", "\n", { trimempty = true })) do
    table.insert(lines, "hint: " .. hint)
  end
  error(vim.trim(table.concat(lines, "\n")), 0)
end

-- Change a buffer by text edits, which keep cursor, marks and folds, to a text.
function M.set_text(buffer, text, text_edits)
  vim.lsp.util.apply_text_edits(text_edits, buffer, "utf-16")

  -- A final newline that came or went is no change of a line.
  local lines = vim.split(text, ENDINGS[vim.bo[buffer].fileformat], { plain = true })
  local has_final_newline = lines[#lines] == ""
  vim.bo[buffer].endofline = has_final_newline
  if has_final_newline and #lines > 1 then
    table.remove(lines)
  end
  if not vim.deep_equal(lines, vim.api.nvim_buf_get_lines(buffer, 0, -1, true)) then
    vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
  end
end

return M
