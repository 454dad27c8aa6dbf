-- A client of git-boocode for Neovim 0.7 or newer; git-boocode-editors(7) describes it.
local M, api, fn, namespace = {}, vim.api, vim.fn, vim.api.nvim_create_namespace("boocode")
local ENDINGS, SIGNS = { unix = "\n", dos = "\r\n", mac = "\r" }, { Add = "+", Change = "~", Delete = "-" }
local OPTIONS = { ["-n"] = "dry_run", ["--dry-run"] = "dry_run" }
for name in ("force markers merge overwrite"):gmatch("%a+") do OPTIONS["--" .. name] = name end
local HELLO = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n'
local CALL = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}\n'
local ANSWER = '{"jsonrpc":"2.0","id":%s,[^\n]*\n' -- The id is null if the server cannot read the call.
local GONE, servers = '{"error":{"message":"git boocode gave no answer; is it in PATH?"}}', {}
-- A function that shows its errors instead of raising them.
local function guarded(action)
  return function(...)
    local done, problem = pcall(action, ...)
    if not done then vim.notify("boocode: " .. tostring(problem), vim.log.levels.ERROR) end
  end
end
-- The current buffer's worktree, which has loaded buffers by path, and the current path.
local function worktree()
  local command = { "git", "-C", fn.expand("%:p:h"), "rev-parse", "--show-toplevel" }
  local top = fn.system(command):gsub("\n$", "/")
  if vim.v.shell_error > 0 then error(command[3] .. " is not in a worktree of git", 0) end
  local tree = { top = top, buffers = {} }
  for _, buffer in ipairs(fn.getbufinfo({ bufloaded = 1 })) do
    local is_file = vim.bo[buffer.bufnr].buftype == "" and not buffer.name:find("/.git/", 1, true)
    local name = is_file and fn.resolve(buffer.name) or ""
    if vim.startswith(name, top) then tree.buffers[name:sub(#top + 1)] = buffer.bufnr end
  end
  return tree, fn.resolve(fn.expand("%:p")):sub(#top + 1)
end
-- Change a buffer by text edits, which keep cursor, marks and folds.
local function set_text(buffer, file)
  local lines = vim.split(file.text, ENDINGS[vim.bo[buffer].fileformat], { plain = true })
  vim.lsp.util.apply_text_edits(file.text_edits, buffer, "utf-16")
  vim.bo[buffer].endofline = lines[#lines] == ""
  if lines[#lines] == "" and #lines > 1 then table.remove(lines) end
  local is_right = vim.deep_equal(lines, api.nvim_buf_get_lines(buffer, 0, -1, true))
  if not is_right then api.nvim_buf_set_lines(buffer, 0, -1, true, lines) end -- A last line break came or went.
end
-- The answer of the worktree's server, which gets the unsaved texts; an error if it failed.
local function ask(tree, tool, arguments)
  for path, buffer in pairs(arguments.buffers and tree.buffers or {}) do
    local options, lines = vim.bo[buffer], api.nvim_buf_get_lines(buffer, 0, -1, true)
    -- What `:write` would write, without the newline that 'fixendofline' would add.
    if options.endofline and (#lines > 1 or lines[1] ~= "") then table.insert(lines, "") end
    lines[1] = (options.bomb and "\239\187\191" or "") .. lines[1]
    arguments.buffers[path] = options.modified and table.concat(lines, ENDINGS[options.fileformat]) or nil
  end
  local server = servers[tree.top] or { id = 0, text = "" }
  if not servers[tree.top] then
    server.job = fn.jobstart({ "git", "-C", tree.top, "boocode", "serve", "--repo", tree.top }, {
      on_stdout = function(_, pieces) server.text = server.text .. table.concat(pieces, "\n") end,
      on_exit = function() servers[tree.top], server.has_ended = nil, true end,
    })
    fn.chansend(server.job, HELLO)
  end
  servers[tree.top], server.id, server.text = server, server.id + 1, server.text:match("[^\n]*$")
  pcall(fn.chansend, server.job, CALL:format(server.id, vim.json.encode({ name = tool, arguments = arguments })))
  local own, unread = ANSWER:format(server.id), ANSWER:format("null")
  local function line() return server.text:match(own) or server.text:match(unread) end
  if not vim.wait(120000, function() return line() or server.has_ended end, 1) then fn.jobstop(server.job) end
  local message = vim.json.decode(line() or GONE, { luanil = { object = true } })
  local answer = (message.result or {}).structuredContent or message
  if answer.retry_context then M.refused = answer end
  local hint = ("\n" .. (answer.error and answer.error.hint or "")):gsub("\n(.)", "\nhint: %1")
  return answer.ok and answer or error(vim.trim(answer.error.message .. hint), 0)
end
-- Show a sign at each line that the proposal changes; an insertion has it at the line below.
local function show(tree, path)
  local buffer = tree.buffers[path] or error("this buffer is not a file of " .. tree.top, 0)
  api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  local answer = ask(tree, "preview", { buffers = vim.empty_dict(), path = path })
  for _, hunk in ipairs(answer.hunks) do
    local kind = hunk.old_text == "" and "Add" or hunk.new_text == "" and "Delete" or "Change"
    local first = math.min(hunk.start_line, api.nvim_buf_line_count(buffer))
    for line = first, math.max(first, hunk.end_line) do
      local sign = { sign_text = SIGNS[kind], sign_hl_group = "Diff" .. kind }
      api.nvim_buf_set_extmark(buffer, namespace, line - 1, 0, sign)
      if line == fn.line(".") then answer.hunk = hunk.number end
    end
  end
  return answer
end
local function update(tree, files, done)
  for _, file in ipairs(done:find("^would") and {} or files) do -- After a dry run, there is nothing to update.
    local buffer = tree.buffers[file.path]
    if buffer and file.text and done == "accepted" then set_text(buffer, file) end
    local is_new = buffer and file.action == "create" and not vim.bo[buffer].modified
    if is_new then api.nvim_buf_call(buffer, function() vim.cmd("edit") end) end
    if buffer then vim.cmd("checktime " .. buffer) end
    pcall(show, tree, file.path)
  end
  vim.notify("boocode: " .. done .. " " .. (#files == 1 and files[1].path or #files .. " files"))
end
-- Accept or discard the current file, or its hunk under the cursor; `fargs` are options.
local function decide(command, of_hunk)
  return guarded(function(given)
    local tree, path = worktree()
    local shown = show(tree, path)
    local is_unsaved = command == "accept" and vim.bo.modified and shown.status:find("[DR]")
    if is_unsaved then error("write the buffer first: it is to be deleted or renamed", 0) end
    if of_hunk and not shown.hunk then error("nothing is proposed for line " .. fn.line("."), 0) end
    local arguments = { buffers = vim.empty_dict(), paths = path, hunk = of_hunk and shown.hunk or nil }
    for _, option in ipairs((given or {}).fargs or {}) do
      arguments[OPTIONS[option] or error("unknown option '" .. option .. "'", 0)] = true
    end
    local done = arguments.dry_run and "would " .. command or command .. "ed"
    update(tree, ask(tree, command, arguments).files, done)
  end)
end
M.accept, M.accept_hunk = decide("accept", false), decide("accept", true)
M.discard, M.discard_hunk = decide("discard", false), decide("discard", true)
M.signs = guarded(function() show(worktree()) end)
-- Propose the edits in a file, or in a list of lines; `retry_of` is the id of a refused proposal.
M.propose = guarded(function(edits, retry_of)
  local lines = type(edits) == "table" and edits or fn.readfile(fn.fnamemodify(edits, ":p"), "b")
  local input, tree = table.concat(lines, "\n"), worktree()
  local arguments = { input = input, retry_of = retry_of or nil, buffers = vim.empty_dict() }
  update(tree, ask(tree, "propose", arguments).files, "proposed")
end)
M.diff = guarded(function()
  local answer, filetype, fileformat = show(worktree()), vim.bo.filetype, vim.bo.fileformat
  vim.cmd("diffthis | rightbelow vnew | setlocal buftype=nofile bufhidden=wipe")
  vim.bo.filetype, vim.bo.fileformat = filetype, fileformat
  set_text(0, { text = answer.text or "", text_edits = {} })
  vim.cmd("setlocal nomodifiable | diffthis | wincmd p")
  if answer.warning then vim.notify("boocode: " .. answer.warning, vim.log.levels.WARN) end
end)
M.restore = guarded(function()
  local tree, east = worktree(), os.time() - os.time(os.date("!*t"))
  local function describe(turn)
    return os.date("%c  ", fn.strptime("%FT%T", turn.created_at) + east) .. (turn.label or turn.agent or turn.id)
  end
  local options = { prompt = "Restore:", format_item = describe }
  vim.ui.select(ask(tree, "log", { max_count = 50 }).checkpoints, options, guarded(function(turn)
    if turn then update(tree, ask(tree, "restore", { checkpoint = turn.id }).changed, "restored") end
  end))
end)
function M.setup()
  for name in ("accept accept_hunk diff discard discard_hunk restore signs"):gmatch("%S+") do
    local command = ("Boocode_" .. name):gsub("_(%l)", string.upper)
    api.nvim_create_user_command(command, M[name], { nargs = "*", bar = true })
  end
  api.nvim_create_user_command("BoocodePropose", guarded(function(given)
    local register = given.args == "" and "" or given.args:match("^@(.)$")
    local lines = given.range > 0 and fn.getline(given.line1, given.line2)
    lines = lines or register and fn.getreg(register, 1, true)
    M.propose(lines or given.args, given.bang and M.refused and M.refused.id)
  end), { nargs = "?", range = true, bang = true, bar = true, complete = "file" })
end
return M
