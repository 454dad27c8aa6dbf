-- A client of git-boocode for Neovim 0.7 or newer; `:help boocode` describes it.

local worktree = require("boocode.worktree")

local M = {}

-- `refused` is the answer to the edits that were refused last.
setmetatable(M, {
  __index = function(_, name)
    return name == "refused" and worktree.refused or nil
  end,
})

local SIGNS = { Add = "+", Change = "~", Delete = "-" }
local namespace = vim.api.nvim_create_namespace("boocode")

-- The arguments of tools that options of the commands stand for.
local OPTIONS = {
  ["-n"] = "dry_run",
  ["--dry-run"] = "dry_run",
  ["--force"] = "force",
  ["--markers"] = "markers",
  ["--merge"] = "merge",
  ["--overwrite"] = "overwrite",
}

-- A function that shows its errors instead of raising them.
local function guarded(action)
  return function(...)
    local succeeded, problem = pcall(action, ...)
    if not succeeded then
      vim.notify("boocode: " .. tostring(problem), vim.log.levels.ERROR)
    end
  end
end

-- An insertion has its sign at the line below.
local function kind_of(hunk)
  if hunk.old_text == "" then
    return "Add"
  end
  return hunk.new_text == "" and "Delete" or "Change"
end

-- Show a sign at each line of a buffer that the proposal changes. Returns the preview, in which
-- `hunk` is the number of the hunk under the cursor.
local function show_signs(tree, path)
  local buffer = tree.buffers[path]
  if not buffer then
    error("this buffer is not a file of " .. tree.top, 0)
  end
  vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)

  local arguments = { buffers = worktree.unsaved(tree), path = path }
  local preview = worktree.ask(tree, "preview", arguments)
  for _, hunk in ipairs(preview.hunks) do
    local kind = kind_of(hunk)
    local sign = { sign_text = SIGNS[kind], sign_hl_group = "Diff" .. kind }
    local first = math.min(hunk.start_line, vim.api.nvim_buf_line_count(buffer))
    for line = first, math.max(first, hunk.end_line) do
      vim.api.nvim_buf_set_extmark(buffer, namespace, line - 1, 0, sign)
      if line == vim.fn.line(".") then
        preview.hunk = hunk.number
      end
    end
  end
  return preview
end

-- Bring the buffers of some files up to date, and report what was done to them.
local function refresh(tree, files, done)
  for _, file in ipairs(files) do
    local buffer = tree.buffers[file.path]
    if buffer then
      local is_new = file.action == "create" and not vim.bo[buffer].modified
      if is_new then
        vim.api.nvim_buf_call(buffer, function()
          vim.cmd("edit")
        end)
      end
      vim.cmd("checktime " .. buffer)
    end
    -- Without a proposal, there are no signs to show.
    pcall(show_signs, tree, file.path)
  end
  local what = #files == 1 and files[1].path or #files .. " files"
  vim.notify("boocode: " .. done .. " " .. what)
end

-- Add the options of a command to the arguments of a tool.
local function add_options(arguments, options)
  for _, option in ipairs(options) do
    local name = OPTIONS[option]
    if not name then
      error("unknown option '" .. option .. "'", 0)
    end
    arguments[name] = true
  end
end

-- Accept or discard the current file, or its hunk under the cursor.
local function decide(tool, of_hunk, options)
  local tree, path = worktree.current()
  local preview = show_signs(tree, path)
  if tool == "accept" and vim.bo.modified and preview.status:find("[DR]") then
    error("write the buffer first: it is to be deleted or renamed", 0)
  end
  if of_hunk and not preview.hunk then
    error("nothing is proposed for line " .. vim.fn.line("."), 0)
  end

  local arguments = { buffers = worktree.unsaved(tree), paths = path }
  arguments.hunk = of_hunk and preview.hunk or nil
  add_options(arguments, options)
  local files = worktree.ask(tree, tool, arguments).files
  if arguments.dry_run then
    local what = #files == 1 and files[1].path or #files .. " files"
    vim.notify("boocode: would " .. tool .. " " .. what)
    return
  end
  for _, file in ipairs(files) do
    local buffer = tree.buffers[file.path]
    if tool == "accept" and buffer and file.text then
      worktree.set_text(buffer, file.text, file.text_edits)
    end
  end
  refresh(tree, files, tool .. "ed")
end

local function decision(tool, of_hunk)
  return guarded(function(command)
    decide(tool, of_hunk, (command or {}).fargs or {})
  end)
end

M.accept = decision("accept", false)
M.accept_hunk = decision("accept", true)
M.discard = decision("discard", false)
M.discard_hunk = decision("discard", true)

-- Show a sign at each line of the current buffer that the proposal changes.
M.signs = guarded(function()
  show_signs(worktree.current())
end)

-- Propose the edits in a file, or in a list of lines; `retry_of` is the id of a refused proposal.
M.propose = guarded(function(edits, retry_of)
  local lines = edits
  if type(edits) ~= "table" then
    lines = vim.fn.readfile(vim.fn.fnamemodify(edits, ":p"), "b")
  end
  local tree = worktree.current()
  local arguments = {
    input = table.concat(lines, "\n"),
    retry_of = retry_of or nil,
    buffers = worktree.unsaved(tree),
  }
  refresh(tree, worktree.ask(tree, "propose", arguments).files, "proposed")
end)

-- Show the current file and what is proposed for it side by side.
M.diff = guarded(function()
  local preview = show_signs(worktree.current())
  local filetype, fileformat = vim.bo.filetype, vim.bo.fileformat
  vim.cmd("diffthis")
  vim.cmd("rightbelow vnew")
  vim.cmd("setlocal buftype=nofile bufhidden=wipe")
  vim.bo.filetype = filetype
  vim.bo.fileformat = fileformat
  worktree.set_text(0, preview.text or "", {})
  vim.cmd("setlocal nomodifiable")
  vim.cmd("diffthis")
  vim.cmd("wincmd p")
  if preview.warning then
    vim.notify("boocode: " .. preview.warning, vim.log.levels.WARN)
  end
end)

-- A turn in one line: when it began, in local time, and what was asked for.
local function describe(turn)
  local now = os.time()
  local offset = now - os.time(os.date("!*t", now))
  local began = vim.fn.strptime("%FT%T", turn.created_at) + offset
  return os.date("%c  ", began) .. (turn.label or turn.agent or turn.id)
end

-- Let one of the newest turns be chosen, of those that changed some paths.
local function choose_turn(tree, prompt, paths, act)
  local turns = worktree.ask(tree, "log", { max_count = 50, paths = paths }).checkpoints
  local choose = guarded(function(turn)
    if turn then
      act(turn)
    end
  end)
  vim.ui.select(turns, { prompt = prompt, format_item = describe }, choose)
end

-- Choose a turn, and restore the files to where it began.
M.restore = guarded(function()
  local tree = worktree.current()
  choose_turn(tree, "Restore:", nil, function(turn)
    local answer = worktree.ask(tree, "restore", { checkpoint = turn.id })
    refresh(tree, answer.changed, "restored")
    if answer.conversation_kept then
      vim.notify("boocode: the conversation stays, because its agent is in a turn")
    end
  end)
end)

-- The worktree of the current buffer, which has to be saved, and a pathspec of its file.
local function saved_file()
  local tree, path = worktree.current()
  if vim.bo.modified then
    error("write the buffer first: its file is to be restored", 0)
  end
  if not tree.buffers[path] then
    error("this buffer is not a file of " .. tree.top, 0)
  end
  return tree, { ":(top,literal)" .. path }
end

-- Choose a turn, and restore the current file to where it began.
M.restore_file = guarded(function()
  local tree, paths = saved_file()
  choose_turn(tree, "Restore this file:", paths, function(turn)
    local arguments = { checkpoint = turn.id, paths = paths }
    refresh(tree, worktree.ask(tree, "restore", arguments).changed, "restored")
  end)
end)

-- Of the change that a restore of a file makes, the hunk at a line; nil if there is none.
local function hunk_at(change, line)
  for _, hunk in ipairs(change.hunks or {}) do
    -- A deletion is undone at the line above or below it.
    local first = hunk.old_text == "" and hunk.start_line - 1 or hunk.start_line
    local last = math.max(hunk.end_line, hunk.start_line)
    if first <= line and line <= last then
      return hunk.number
    end
  end
  return nil
end

-- Choose a turn, and restore the hunk under the cursor to where it began.
M.restore_hunk = guarded(function()
  local tree, paths = saved_file()
  local line = vim.fn.line(".")
  choose_turn(tree, "Restore this hunk:", paths, function(turn)
    local arguments = { checkpoint = turn.id, paths = paths, dry_run = true }
    local change = worktree.ask(tree, "restore", arguments).changed[1] or {}
    local number = hunk_at(change, line)
    if not number then
      error("line " .. line .. " is as it was before that turn", 0)
    end
    arguments.dry_run = nil
    arguments.hunk = { number }
    arguments.expect = change.version
    refresh(tree, worktree.ask(tree, "restore", arguments).changed, "restored a hunk of")
  end)
end)

-- Whether the user agrees to change some files.
local function agrees(question, files)
  local lines = { question }
  for _, file in ipairs(files) do
    table.insert(lines, file.action .. " " .. file.path)
  end
  return vim.fn.confirm(table.concat(lines, "\n"), "&Yes\n&No", 2) == 1
end

-- Choose a turn, and take it back; what others wrote since stays, in modified buffers, too.
M.revert = guarded(function()
  local tree = worktree.current()
  choose_turn(tree, "Take back:", nil, function(turn)
    local arguments = { turns = { turn.id }, buffers = worktree.unsaved(tree), dry_run = true }
    local planned = worktree.ask(tree, "revert", arguments).changed
    if #planned == 0 then
      error("there is nothing left of that turn", 0)
    end
    if not agrees("Take back this turn?", planned) then
      return
    end
    arguments.dry_run = nil
    local files = worktree.ask(tree, "revert", arguments).changed
    for _, file in ipairs(files) do
      local buffer = tree.buffers[file.path]
      if buffer and file.text then
        worktree.set_text(buffer, file.text, file.text_edits)
      end
    end
    refresh(tree, files, "took back")
  end)
end)

-- Undo the latest restore, revert, accept or discard.
M.undo = guarded(function()
  local tree = worktree.current()
  refresh(tree, worktree.ask(tree, "undo", vim.empty_dict()).changed, "undid the change of")
end)

-- The lines that `:BoocodePropose` names: a selection, a register such as `@+`, or a file.
local function edits_of(command)
  if command.range > 0 then
    return vim.fn.getline(command.line1, command.line2)
  end
  local register = command.args == "" and "" or command.args:match("^@(.)$")
  return register and vim.fn.getreg(register, 1, true) or command.args
end

-- Define the commands; it may be called again.
function M.setup()
  local commands = {
    BoocodeAccept = M.accept,
    BoocodeAcceptHunk = M.accept_hunk,
    BoocodeDiff = M.diff,
    BoocodeDiscard = M.discard,
    BoocodeDiscardHunk = M.discard_hunk,
    BoocodeRestore = M.restore,
    BoocodeRestoreFile = M.restore_file,
    BoocodeRestoreHunk = M.restore_hunk,
    BoocodeRevert = M.revert,
    BoocodeSigns = M.signs,
    BoocodeUndo = M.undo,
  }
  for name, action in pairs(commands) do
    vim.api.nvim_create_user_command(name, action, { nargs = "*", bar = true })
  end
  local propose = guarded(function(command)
    local refused = command.bang and worktree.refused
    M.propose(edits_of(command), refused and refused.id)
  end)
  local options = { nargs = "?", range = true, bang = true, bar = true, complete = "file" }
  vim.api.nvim_create_user_command("BoocodePropose", propose, options)
end

return M
