-- Worktrees: which buffers show their files, what the server says about those, and how the buffers
-- get its texts. Everything here is called by commands, which are coroutines.

local server = require("boocode.server")
local task = require("boocode.task")

local M = {}

local ENDINGS = { unix = "\n", dos = "\r\n", mac = "\r" }
local BYTE_ORDER_MARK = "\239\187\191"
local ATTEMPTS = 2

-- The answer to the last edit that was refused; `id` names it for the next try.
M.refused = nil

local places = vim.api.nvim_create_namespace("boocode places")

-- The place of the cursor, which stays in the text while a command waits. In a window of
-- `:BoocodeDiff`, the buffer is that of the file, and `in_output` is the line in the proposed text.
function M.here()
  local buffer = vim.api.nvim_get_current_buf()
  -- Commands of `-c` run at line 0.
  local line = math.max(vim.fn.line("."), 1)
  local file = vim.b[buffer].boocode_file
  if file then
    return { buffer = file, in_output = line }
  end
  local mark = vim.api.nvim_buf_set_extmark(buffer, places, line - 1, 0, {})
  return { buffer = buffer, mark = mark }
end

-- Forget a place.
function M.leave(here)
  if here.mark and vim.api.nvim_buf_is_valid(here.buffer) then
    vim.api.nvim_buf_del_extmark(here.buffer, places, here.mark)
  end
end

-- The line of a place now.
function M.line_of(here)
  local position = vim.api.nvim_buf_get_extmark_by_id(here.buffer, places, here.mark, {})
  return (position[1] or 0) + 1
end

-- The path of a buffer's file below a worktree; nil if it shows no file there.
local function path_below(top, buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  local is_of_git = name:find("/.git/", 1, true) ~= nil
  if name == "" or vim.bo[buffer].buftype ~= "" or is_of_git then
    return nil
  end
  name = vim.fn.resolve(name)
  return vim.startswith(name, top) and name:sub(#top + 1) or nil
end

-- What git prints, and whether it succeeded.
local function git(arguments)
  local output
  local code = task.await(function(resume)
    local started = pcall(vim.fn.jobstart, { "git", unpack(arguments) }, {
      stdout_buffered = true,
      on_stdout = function(_, lines)
        output = table.concat(lines, "\n")
      end,
      on_exit = function(_, status)
        resume(status)
      end,
    })
    if not started then
      resume(-1)
    end
  end)
  return output, code == 0
end

-- The worktree of a place, and the path of its file there, nil if it is none.
function M.of(here)
  local name = vim.api.nvim_buf_get_name(here.buffer)
  local is_file = name ~= "" and vim.bo[here.buffer].buftype == ""
  local directory = is_file and vim.fn.fnamemodify(name, ":p:h") or vim.fn.getcwd()
  local top, found = git({ "-C", directory, "rev-parse", "--show-toplevel" })
  if not found then
    error(directory .. " is not in a worktree of git", 0)
  end
  local tree = { top = top:gsub("\n$", "/") }
  return tree, path_below(tree.top, here.buffer)
end

-- The loaded buffers of a worktree, by path.
function M.buffers(tree)
  local found = {}
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local path = vim.api.nvim_buf_is_loaded(buffer) and path_below(tree.top, buffer)
    if path then
      found[path] = buffer
    end
  end
  return found
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
  for path, buffer in pairs(M.buffers(tree)) do
    if vim.bo[buffer].modified then
      texts[path] = text_of(buffer)
    end
  end
  return texts
end

-- The message of a failed call, and what is possible next, which steps say in words of their own.
local function describe(problem)
  local failed = problem.answer.error
  local hints = vim.split(failed.hint or "", "\n", { trimempty = true })
  if failed.next then
    hints = vim.tbl_map(function(step)
      return step.text
    end, failed.next)
  end
  local lines = { failed.message }
  for _, hint in ipairs(hints) do
    table.insert(lines, "hint: " .. hint)
  end
  return vim.trim(table.concat(lines, "\n"))
end

-- The answer of a tool. If it failed, this is an error, a table with the `answer`.
function M.ask(tree, tool, arguments)
  local message = task.await(function(resume)
    server.call(tree.top, tool, arguments, resume)
  end)
  local answer = (message.result or {}).structuredContent or message
  if answer.retry_context then
    M.refused = answer
  end
  if answer.ok then
    return answer
  end
  error(setmetatable({ answer = answer }, { __tostring = describe }), 0)
end

-- What is typed while a command waits moves the versions of buffers.
local function versions_of(tree)
  local versions = {}
  for path, buffer in pairs(M.buffers(tree)) do
    versions[path] = vim.api.nvim_buf_get_changedtick(buffer)
  end
  return versions
end

-- Whether the buffers of some files, by default of all, are as they were. One that was opened
-- since has what was on disk.
local function are_same(tree, versions, files)
  local changed = {}
  for path, buffer in pairs(M.buffers(tree)) do
    local version = versions[path]
    if version and version ~= vim.api.nvim_buf_get_changedtick(buffer) then
      changed[path] = true
    elseif not version and vim.bo[buffer].modified then
      changed[path] = true
    end
  end
  if files == nil then
    return vim.tbl_isempty(changed)
  end
  for _, file in ipairs(files) do
    if changed[file.path] or changed[file.from] then
      return false
    end
  end
  return true
end

-- Undo or redo what a checkpoint recorded, unless something else was done since. Returns the
-- answer, nil if so.
function M.step_back(tree, tool, checkpoint)
  local succeeded, answer = pcall(M.ask, tree, tool, { expect = checkpoint or vim.NIL })
  if succeeded then
    return answer
  end
  local code = type(answer) == "table" and answer.answer.error.code
  if code ~= "stale" and code ~= "not_found" and code ~= "invalid_input" then
    error(answer, 0)
  end
  return nil
end

-- Let a tool change files and buffers, all or none. If a buffer changes while the server computes,
-- it computes again with the new text; if it changes while the server writes, that is taken back.
-- Returns the answer, and what was done to buffers.
function M.change(tree, tool, arguments)
  for _ = 1, ATTEMPTS do
    local versions = versions_of(tree)
    local given = vim.tbl_extend("force", arguments, { buffers = M.unsaved(tree) })
    M.ask(tree, tool, vim.tbl_extend("force", given, { dry_run = true }))
    if are_same(tree, versions) then
      local answer = M.ask(tree, tool, given)
      local files = answer.files or answer.changed
      if are_same(tree, versions, files) then
        return answer, M.fill_buffers(tree, files)
      end
      if not M.step_back(tree, "undo", answer.undo) then
        error("the text changed meanwhile, the buffers were left; :BoocodeUndo takes it back", 0)
      end
      break
    end
  end
  error("the text changed meanwhile; nothing was done, run the command again", 0)
end

-- The lines of marks, which a change of their lines would delete. Each is a setter and a place.
local function remember_marks(buffer)
  local marks = {}
  local function remember(name, position)
    local row = math.min(position[2], vim.api.nvim_buf_line_count(buffer)) - 1
    if row >= 0 then
      local id = vim.api.nvim_buf_set_extmark(buffer, places, row, 0, {})
      table.insert(marks, { name = name, id = id, column = position[3] - 1 })
    end
  end
  for _, mark in ipairs(vim.fn.getmarklist(buffer)) do
    if mark.mark:match("^'%l$") then
      remember(mark.mark:sub(2), mark.pos)
    end
  end
  for _, mark in ipairs(vim.fn.getmarklist()) do
    if mark.mark:match("^'%u$") and mark.pos[1] == buffer then
      remember(mark.mark:sub(2), mark.pos)
    end
  end
  return marks
end

local function restore_marks(buffer, marks)
  for _, mark in ipairs(marks) do
    local row = vim.api.nvim_buf_get_extmark_by_id(buffer, places, mark.id, {})[1]
    vim.api.nvim_buf_del_extmark(buffer, places, mark.id)
    if row and vim.api.nvim_buf_get_mark(buffer, mark.name)[1] == 0 then
      local line = vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1]
      if line then
        vim.api.nvim_buf_set_mark(buffer, mark.name, row + 1, math.min(mark.column, #line), {})
      end
    end
  end
end

-- What is changed until the next call is one step of `u`.
function M.break_undo(buffer)
  vim.api.nvim_buf_call(buffer, function()
    vim.cmd("let &g:undolevels = &g:undolevels")
  end)
end

-- Change a buffer by text edits, which keep cursor, marks and folds, to a text.
function M.set_text(buffer, text, text_edits)
  local marks = remember_marks(buffer)
  vim.lsp.util.apply_text_edits(text_edits, buffer, "utf-16")

  -- A final newline that came or went is no change of a line.
  local bare = vim.startswith(text, BYTE_ORDER_MARK) and text:sub(#BYTE_ORDER_MARK + 1) or text
  local lines = vim.split(bare, ENDINGS[vim.bo[buffer].fileformat], { plain = true })
  local has_final_newline = lines[#lines] == ""
  vim.bo[buffer].endofline = has_final_newline
  if has_final_newline and #lines > 1 then
    table.remove(lines)
  end
  if not vim.deep_equal(lines, vim.api.nvim_buf_get_lines(buffer, 0, -1, true)) then
    vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
  end
  restore_marks(buffer, marks)
end

-- Where the buffer is in its history of changes.
function M.sequence(buffer)
  return vim.api.nvim_buf_call(buffer, function()
    return vim.fn.undotree().seq_cur
  end)
end

-- Give the buffers of changed files their new texts: those of unsaved ones are in the answer, the
-- others are read again. Returns what was done to each: buffer, history before and after.
function M.fill_buffers(tree, files)
  local buffers, filled = M.buffers(tree), {}
  for _, file in ipairs(files) do
    local buffer = buffers[file.path]
    if buffer then
      local before = M.sequence(buffer)
      local in_buffer = file.text ~= nil
      if in_buffer then
        M.break_undo(buffer)
        M.set_text(buffer, file.text, file.text_edits)
        M.break_undo(buffer)
      else
        if file.action == "create" and not vim.bo[buffer].modified then
          vim.api.nvim_buf_call(buffer, function()
            vim.cmd("edit")
          end)
        end
        vim.cmd("checktime " .. buffer)
      end
      table.insert(filled, {
        buffer = buffer,
        in_buffer = in_buffer,
        before = before,
        after = M.sequence(buffer),
      })
    end
  end
  return filled
end

return M
