-- What is proposed: signs in the buffers, the hunk at a place, the list, and the compared text.

local task = require("boocode.task")
local worktree = require("boocode.worktree")

local M = {}

local SIGNS = { Add = "+", Change = "~", Delete = "-" }
local ATTEMPTS = 3
local LIST_TITLE = "git boocode: proposed"
local namespace = vim.api.nvim_create_namespace("boocode")

-- What the user sees in each buffer: path, proposal, status, and the hunks with their signs.
local shown = {}
-- The proposal that was shown last, by the top of its worktree.
local latest = {}

-- An insertion has its sign at the line below.
local function kind_of(hunk)
  if hunk.old_text == "" then
    return "Add"
  end
  return hunk.new_text == "" and "Delete" or "Change"
end

local function clear(buffer)
  vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  shown[buffer] = nil
end

local function place_signs(buffer, preview)
  clear(buffer)
  shown[buffer] = preview
  for _, hunk in ipairs(preview.hunks) do
    local kind = kind_of(hunk)
    local sign = { sign_text = SIGNS[kind], sign_hl_group = "Diff" .. kind }
    local first = math.min(hunk.start_line, vim.api.nvim_buf_line_count(buffer))
    hunk.signs = {}
    for line = first, math.max(first, hunk.end_line) do
      local id = vim.api.nvim_buf_set_extmark(buffer, namespace, line - 1, 0, sign)
      hunk.signs[id] = true
    end
  end
end

-- The window of `:BoocodeDiff` of a buffer; nil if there is none.
local function compared_buffer(buffer)
  for _, other in ipairs(vim.api.nvim_list_bufs()) do
    if vim.b[other].boocode_file == buffer then
      return other
    end
  end
  return nil
end

local function update_compared(buffer, preview)
  local output = compared_buffer(buffer)
  if not output then
    return
  end
  if not preview or #preview.hunks == 0 then
    vim.api.nvim_buf_delete(output, { force = true })
    return
  end
  vim.bo[output].modifiable = true
  worktree.set_text(output, preview.text or "", {})
  vim.bo[output].modifiable = false
end

-- Ask for the preview of a buffer's file, until the buffer is as it was when asked for.
local function preview_of(tree, path, buffer)
  for _ = 1, ATTEMPTS do
    local version = vim.api.nvim_buf_get_changedtick(buffer)
    local arguments = { path = path, buffers = worktree.unsaved(tree) }
    local preview = worktree.ask(tree, "preview", arguments)
    if not vim.api.nvim_buf_is_loaded(buffer) then
      return nil
    end
    if version == vim.api.nvim_buf_get_changedtick(buffer) then
      return preview
    end
  end
  return nil
end

-- The files of the proposal.
function M.status(tree)
  local arguments = { buffers = worktree.unsaved(tree) }
  local answer = worktree.ask(tree, "status", arguments)
  local files = vim.tbl_filter(function(file)
    return file.status ~= ""
  end, answer.files)
  return files, answer.proposal
end

-- Show a sign at each line that the proposal changes, in all buffers of a worktree. Returns the
-- files of the proposal.
function M.refresh(tree)
  local buffers = worktree.buffers(tree)
  local files, id = M.status(tree)
  latest[tree.top] = id
  local proposed = {}
  for _, file in ipairs(files) do
    proposed[file.path] = true
    proposed[file.from or file.path] = true
  end
  for path, buffer in pairs(buffers) do
    local preview = proposed[path] and preview_of(tree, path, buffer)
    if preview then
      place_signs(buffer, preview)
    elseif vim.api.nvim_buf_is_loaded(buffer) then
      clear(buffer)
    end
    update_compared(buffer, preview)
  end
  return files, id
end

-- The id of the proposal that was shown last; nil if none was.
function M.latest(tree)
  return latest[tree.top]
end

-- What is shown in a buffer; nil if nothing is.
function M.shown(buffer)
  return shown[buffer]
end

-- The number of the hunk at a place; nil if the place has no sign.
function M.hunk_at(here)
  local preview = shown[here.buffer]
  if not preview then
    return nil
  end
  if here.in_output then
    for _, hunk in ipairs(preview.hunks) do
      local last = math.max(hunk.new_start_line, hunk.new_end_line)
      if hunk.new_start_line <= here.in_output and here.in_output <= last then
        return hunk.number
      end
    end
    return nil
  end
  local row = worktree.line_of(here) - 1
  local places = { { row, 0 }, { row, -1 } }
  local marks = vim.api.nvim_buf_get_extmarks(here.buffer, namespace, places[1], places[2], {})
  for _, mark in ipairs(marks) do
    for _, hunk in ipairs(preview.hunks) do
      if hunk.signs[mark[1]] then
        return hunk.number
      end
    end
  end
  return nil
end

-- The first lines of the hunks that are shown in a buffer, in order.
local function first_lines(buffer)
  local lines = {}
  for _, hunk in ipairs((shown[buffer] or { hunks = {} }).hunks) do
    local first = math.huge
    for id in pairs(hunk.signs) do
      local row = vim.api.nvim_buf_get_extmark_by_id(buffer, namespace, id, {})[1]
      first = math.min(first, row and row + 1 or math.huge)
    end
    table.insert(lines, first)
  end
  table.sort(lines)
  return lines
end

-- Move the cursor to the next hunk, or to the one before it.
function M.jump(forwards, count)
  local line, target = vim.fn.line("."), nil
  local lines = first_lines(vim.api.nvim_get_current_buf())
  for index = 1, #lines do
    local hunk = forwards and lines[index] or lines[#lines + 1 - index]
    local is_beyond = forwards and hunk > line or not forwards and hunk < line
    if is_beyond and hunk <= vim.fn.line("$") then
      target, count = hunk, count - 1
      if count == 0 then
        break
      end
    end
  end
  if not target then
    error("no more hunks in this file; :BoocodeList lists all", 0)
  end
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { target, 0 })
  vim.cmd("normal! ^")
end

-- The first line of what a hunk does, as a diff has it.
local function excerpt(hunk)
  local sign = hunk.new_text == "" and "-" or "+"
  local text = hunk.new_text == "" and hunk.old_text or hunk.new_text
  return sign .. text:match("[^\n]*")
end

-- While the list is the current one, the files that are opened from it have signs.
local function show_signs_of_listed(tree)
  local refresh = task.command(function()
    M.refresh(tree)
  end)
  vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile" }, {
    group = vim.api.nvim_create_augroup("boocode", {}),
    callback = function()
      if vim.fn.getqflist({ title = 1 }).title == LIST_TITLE then
        refresh()
      end
    end,
  })
end

-- Fill the quickfix list with the hunks of all proposed files.
function M.list(tree)
  local items = {}
  for _, file in ipairs(M.refresh(tree)) do
    local arguments = { path = file.path, buffers = worktree.unsaved(tree) }
    local preview = worktree.ask(tree, "preview", arguments)
    local hunks = #preview.hunks > 0 and preview.hunks or { { start_line = 1 } }
    for _, hunk in ipairs(hunks) do
      table.insert(items, {
        filename = tree.top .. file.path,
        lnum = math.max(hunk.start_line, 1),
        text = file.status .. " " .. (hunk.number and excerpt(hunk) or preview.warning or ""),
      })
    end
  end
  if #items == 0 then
    error("nothing is proposed", 0)
  end
  vim.fn.setqflist({}, " ", { title = LIST_TITLE, items = items })
  vim.cmd("botright copen")
  show_signs_of_listed(tree)
end

-- Leave the comparison of a buffer, in all windows that show it.
local function end_comparison(buffer)
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_buf(window) == buffer then
      vim.api.nvim_win_call(window, function()
        vim.cmd("diffoff")
      end)
    end
  end
end

-- Show the file of a place and what is proposed for it side by side. The comparison ends when its
-- window is closed.
function M.compare(tree, path, here)
  local preview = preview_of(tree, path, here.buffer)
  local open = compared_buffer(here.buffer)
  if not preview or open then
    return preview
  end
  place_signs(here.buffer, preview)
  local window = vim.fn.bufwinid(here.buffer)
  if window == -1 then
    return preview
  end
  vim.api.nvim_set_current_win(window)
  local filetype, fileformat = vim.bo.filetype, vim.bo.fileformat
  vim.cmd("diffthis")
  vim.cmd("rightbelow vnew")
  vim.cmd("setlocal buftype=nofile bufhidden=wipe noswapfile")
  local output = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_name(output, "boocode://" .. path .. " (proposed)")
  vim.b[output].boocode_file = here.buffer
  vim.bo[output].filetype = filetype
  vim.bo[output].fileformat = fileformat
  worktree.set_text(output, preview.text or "", {})
  vim.bo[output].modifiable = false
  vim.cmd("diffthis")
  vim.api.nvim_create_autocmd("BufWipeout", {
    buffer = output,
    callback = function()
      end_comparison(here.buffer)
    end,
  })
  vim.cmd("wincmd p")
  return preview
end

return M
