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

-- Choose one of the newest turns, and restore the files to where it began.
M.restore = guarded(function()
  local tree = worktree.current()
  local turns = worktree.ask(tree, "log", { max_count = 50 }).checkpoints
  local restore = guarded(function(turn)
    if turn then
      local answer = worktree.ask(tree, "restore", { checkpoint = turn.id })
      refresh(tree, answer.changed, "restored")
    end
  end)
  vim.ui.select(turns, { prompt = "Restore:", format_item = describe }, restore)
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
    BoocodeSigns = M.signs,
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
