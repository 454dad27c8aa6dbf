-- Turns: choose one, see what it did, go back to before or after it, or take it back.

local steps = require("boocode.steps")
local task = require("boocode.task")
local worktree = require("boocode.worktree")

local M = {}

local FIRST_PAGE = 50
local LISTED_FILES = 12
local MARKS = { archived = "archived", restored = "restored away", reverted = "reverted" }
local UNITS = { { 86400, "d" }, { 3600, "h" }, { 60, "min" } }
local DIFF_NAME, LOG_NAME = "boocode://turn", "boocode://log"
local SIDES = { before = "before this turn", after = "after this turn" }

local HERE_INDENT = (" "):rep(12)

local OLDER = "older turns…"

-- The list of turns: their worktree, the turns by their lines, how many are read at most, and the
-- line that stands for older ones; as old as the list.
local log

local function plural(number, word)
  return number .. " " .. word .. (number == 1 and "" or "s")
end

local function named(files)
  return #files == 1 and files[1].path or plural(#files, "file")
end

-- How long ago a turn began, or its day.
local function age(time)
  local now = os.time()
  local offset = now - os.time(os.date("!*t", now))
  local seconds = now - (vim.fn.strptime("%FT%T", time) + offset)
  if seconds >= 30 * 86400 then
    return os.date("%F", now - seconds)
  end
  for _, unit in ipairs(UNITS) do
    if seconds >= unit[1] then
      return math.floor(seconds / unit[1]) .. " " .. unit[2] .. " ago"
    end
  end
  return "just now"
end

-- What was asked for; a turn without a label has the abbreviated id of its commit.
local function label_of(turn)
  local label = turn.label ~= "" and turn.label or nil
  return (label or "checkpoint " .. turn.commit:sub(1, 8)):match("[^\n]*")
end

-- A turn in one line: when it began, agent, files, lines, its marks, and what was asked for, whose
-- end a narrow window does not show.
local function describe(turn)
  local counts = ("+%s −%s"):format(turn.added or "?", turn.removed or "?")
  local files = turn.files and plural(turn.files, "file") or ""
  local fields = { age(turn.created_at), turn.agent or "", files, counts }
  local row = ("%-10s  %-11s  %9s  %12s  "):format(unpack(fields))
  if MARKS[turn.state] then
    row = row .. "(" .. MARKS[turn.state] .. ") "
  end
  if turn.open then
    row = row .. "(running) "
  end
  return row .. label_of(turn)
end

local function you_are_here(turn)
  local state = turn.here == "after" and MARKS[turn.state]
  return "you are here: " .. turn.here .. " this turn" .. (state and " (" .. state .. ")" or "")
end

-- The newest turns, of those that changed some paths; the last row may stand for older ones.
local function read_turns(tree, paths, limit)
  local answer = worktree.ask(tree, "log", { max_count = limit, paths = paths })
  local turns = answer.checkpoints
  for _, turn in ipairs(turns) do
    if answer.here and answer.here.turn == turn.id then
      turn.here = answer.here.side
    end
  end
  return turns, #turns == limit
end

local function select(items, prompt, format_item)
  return task.await_user(function(choose)
    vim.ui.select(items, { prompt = prompt, format_item = format_item }, choose)
  end)
end

-- Let one of the newest turns be chosen; nil if none is.
local function choose_turn(tree, prompt, paths)
  local limit = FIRST_PAGE
  while true do
    local turns, may_be_more = read_turns(tree, paths, limit)
    if #turns == 0 then
      error(paths and "no turn changed this file" or "there are no turns", 0)
    end
    if may_be_more then
      table.insert(turns, { is_more = true })
    end
    local chosen = select(turns, prompt, function(turn)
      if turn.is_more then
        return OLDER
      end
      return describe(turn) .. (turn.here and "  (" .. you_are_here(turn) .. ")" or "")
    end)
    if not chosen or not chosen.is_more then
      return chosen
    end
    limit = limit * 4
  end
end

-- A choice of some words, each with its key; nil if the user cancels.
local function choose_word(question, words)
  return task.await_user(function(choose)
    local shown = vim.tbl_map(function(word)
      return "&" .. word
    end, words)
    table.insert(shown, "&Cancel")
    vim.cmd("redraw")
    choose(words[vim.fn.confirm(question, table.concat(shown, "\n"), #shown)])
  end)
end

-- What would be done to files, a line each.
local function file_lines(files, indent)
  local lines = {}
  for index, file in ipairs(files) do
    if index > LISTED_FILES then
      table.insert(lines, indent .. "and " .. plural(#files - LISTED_FILES, "more file"))
      break
    end
    local counts = ""
    if file.lines then
      counts = ("  +%d −%d"):format(file.lines.added or 0, file.lines.removed or 0)
    end
    table.insert(lines, indent .. file.action .. " " .. file.path .. counts)
  end
  return lines
end

local UNDO = ":BoocodeUndo takes it back"

-- Refuse to change files whose buffers are not saved: they would be out of date.
function M.refuse_unsaved(tree, files)
  local buffers, unsaved = worktree.buffers(tree), {}
  for _, file in ipairs(files) do
    local buffer = buffers[file.path]
    if buffer and vim.bo[buffer].modified then
      table.insert(unsaved, file.path)
    end
  end
  if #unsaved > 0 then
    error("write the buffer first: " .. table.concat(unsaved, ", ") .. " would change", 0)
  end
end

local function report(tree, files, done)
  worktree.fill_buffers(tree, files)
  M.refresh(tree)
  M.refresh_log(tree)
  vim.notify("boocode: " .. done .. " " .. named(files) .. "; " .. UNDO)
end

-- Shows the signs anew; set by the module of the commands.
M.refresh = nil

-- Show a diff in a window below, with the cursor left where it is.
local function show_diff(tree, turn)
  local diff = worktree.ask(tree, "diff", { old = turn.id, turn = true }).diff
  local window = vim.fn.bufwinid(DIFF_NAME)
  if window == -1 then
    vim.cmd("silent botright new")
    vim.cmd("setlocal buftype=nofile bufhidden=wipe noswapfile filetype=diff")
    vim.api.nvim_buf_set_name(0, DIFF_NAME)
    window = vim.api.nvim_get_current_win()
    vim.cmd("wincmd p")
  end
  local buffer = vim.api.nvim_win_get_buf(window)
  local lines = vim.split(label_of(turn) .. "\n\n" .. diff:gsub("\n$", ""), "\n", { plain = true })
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  vim.api.nvim_win_set_cursor(window, { 1, 0 })
end

-- What a restore to each side of a turn would change; a side may be impossible.
local function plans_of(tree, arguments, sides)
  local plans, problem = {}, nil
  for _, side in ipairs(sides) do
    local given = { dry_run = true, after = side == "after" or nil }
    given = vim.tbl_extend("force", arguments, given)
    local succeeded, answer = pcall(worktree.ask, tree, "restore", given)
    if succeeded then
      local plan = { side = side, changed = answer.changed, version = answer.version }
      table.insert(plans, plan)
    else
      problem = problem or answer
    end
  end
  if #plans == 0 then
    error(problem, 0)
  end
  return plans
end

local function question_of(turn, plans)
  local lines = { "Restore files? " .. label_of(turn) }
  for _, plan in ipairs(plans) do
    local count = #plan.changed == 0 and "changes nothing" or plural(#plan.changed, "file")
    table.insert(lines, SIDES[plan.side] .. ": " .. count)
    vim.list_extend(lines, file_lines(plan.changed, "  "))
  end
  table.insert(lines, UNDO .. ".")
  return table.concat(lines, "\n")
end

-- Ask to which side of a turn the files go; nil for none.
local function choose_side(tree, turn, plans)
  local words = {}
  for _, plan in ipairs(plans) do
    if #plan.changed > 0 then
      table.insert(words, plan.side == "before" and "Before" or "After")
    end
  end
  if #words == 0 then
    error("the files are as they were " .. SIDES[plans[1].side], 0)
  end
  table.insert(words, "Diff")
  while true do
    local word = choose_word(question_of(turn, plans), words)
    if word ~= "Diff" then
      return word and word:lower()
    end
    show_diff(tree, turn)
  end
end

local function restore_to(tree, turn, arguments, sides)
  local plans = plans_of(tree, arguments, sides)
  local side = choose_side(tree, turn, plans)
  if not side then
    return
  end
  local given = vim.tbl_extend("force", { after = side == "after" or nil }, arguments)
  for _, plan in ipairs(plans) do
    if plan.side == side then
      M.refuse_unsaved(tree, plan.changed)
      given.expect = plan.version
    end
  end
  local answer = worktree.ask(tree, "restore", given)
  report(tree, answer.changed, "restored")
  if answer.conversation_kept then
    vim.notify("boocode: the conversation stays, because its agent is in a turn")
  end
end

-- Restore files to before or after a turn, once the user has seen what would change.
function M.restore_to(tree, turn, arguments, sides)
  local given = vim.tbl_extend("force", arguments, { checkpoint = turn.id })
  steps.run("restore", given, function(more)
    restore_to(tree, turn, more, sides)
  end)
end

-- Choose a turn, and restore all files, or some, to before or after it.
function M.restore(tree, paths, arguments, sides)
  local prompt = paths and "Restore this file:" or "Restore:"
  local turn = choose_turn(tree, prompt, paths)
  if turn then
    M.restore_to(tree, turn, vim.tbl_extend("force", arguments, { paths = paths }), sides)
  end
end

-- Of the change that a restore of a file makes, the hunk at a line; nil if there is none.
local function hunk_at(change, line)
  for _, hunk in ipairs(change.hunks or {}) do
    -- A deletion is undone at the line above or below it.
    local first = hunk.old_text == "" and hunk.start_line - 1 or hunk.start_line
    local last = math.max(hunk.end_line, hunk.start_line)
    if first <= line and line <= last then
      return hunk
    end
  end
  return nil
end

local function signed_lines(text, sign)
  local lines = {}
  for line in text:gmatch("[^\n]+") do
    table.insert(lines, "  " .. sign .. line)
  end
  return lines
end

-- Choose a turn, and restore the hunk at a place to before or after it.
function M.restore_hunk(tree, here, paths, side)
  local turn = choose_turn(tree, "Restore this hunk:", paths)
  if not turn then
    return
  end
  local arguments = { checkpoint = turn.id, paths = paths, after = side == "after" or nil }
  local dry = vim.tbl_extend("force", arguments, { dry_run = true })
  local change = worktree.ask(tree, "restore", dry).changed[1] or {}
  local line = worktree.line_of(here)
  local hunk = hunk_at(change, line)
  if not hunk then
    error("line " .. line .. " is as it was " .. side .. " that turn", 0)
  end
  local lines = { "Restore this hunk to " .. SIDES[side] .. "? " .. label_of(turn) }
  vim.list_extend(lines, signed_lines(hunk.old_text, "-"))
  vim.list_extend(lines, signed_lines(hunk.new_text, "+"))
  table.insert(lines, UNDO .. ".")
  if choose_word(table.concat(lines, "\n"), { "Yes" }) then
    M.refuse_unsaved(tree, { change })
    arguments.hunk = { hunk.number }
    arguments.expect = change.version
    report(tree, worktree.ask(tree, "restore", arguments).changed, "restored a hunk of")
  end
end

-- What the user reads of the two ways of a turn: back, and here once more.
local WORDS = {
  revert = {
    question = "Take back this turn? ",
    nothing = "there is nothing left of that turn",
    done = "took back ",
  },
  pick = {
    question = "Do here what this turn did? ",
    nothing = "all that it changed is here",
    done = "picked ",
  },
}

local function merge_turn(tree, turn, tool, arguments)
  local dry = { buffers = worktree.unsaved(tree), dry_run = true }
  local planned = worktree.ask(tree, tool, vim.tbl_extend("force", arguments, dry)).changed
  if #planned == 0 then
    error(WORDS[tool].nothing, 0)
  end
  local lines = { WORDS[tool].question .. label_of(turn) }
  vim.list_extend(lines, file_lines(planned, ""))
  table.insert(lines, UNDO .. ".")
  if choose_word(table.concat(lines, "\n"), { "Yes" }) then
    local files = worktree.change(tree, tool, arguments).changed
    M.refresh(tree)
    M.refresh_log(tree)
    vim.notify("boocode: " .. WORDS[tool].done .. named(files) .. "; " .. UNDO)
  end
end

-- Take a turn back, or pick it, once the user has seen what would change; what others wrote since
-- stays, in modified buffers, too.
local function merge(tree, turn, tool)
  steps.run(tool, { turns = { turn.id } }, function(arguments)
    merge_turn(tree, turn, tool, arguments)
  end)
end

-- Choose a turn, and take it back.
function M.revert(tree)
  local turn = choose_turn(tree, "Take back:", nil)
  if turn then
    merge(tree, turn, "revert")
  end
end

-- Choose a turn, and do here what it did.
function M.pick(tree)
  local turn = choose_turn(tree, "Pick:", nil)
  if turn then
    merge(tree, turn, "pick")
  end
end

-- Close the list of turns, and what one did.
local function close()
  for _, name in ipairs({ DIFF_NAME, LOG_NAME }) do
    local window = vim.fn.bufwinid(name)
    if window ~= -1 then
      vim.api.nvim_win_close(window, true)
    end
  end
end

-- Fill the list of turns; the cursors stay on their turns.
local function fill_log(buffer, tree, limit, turns, may_be_more)
  local cursors = {}
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    local turn = log and log.turns[vim.api.nvim_win_get_cursor(window)[1]]
    cursors[window] = turn and turn.id
  end
  log = { tree = tree, turns = {}, limit = limit }
  local rows = {}
  for _, turn in ipairs(turns) do
    local here = turn.here and HERE_INDENT .. you_are_here(turn)
    if here and turn.here ~= "before" then
      table.insert(rows, here)
    end
    table.insert(rows, describe(turn))
    log.turns[#rows] = turn
    if turn.here == "before" then
      table.insert(rows, here)
    end
  end
  if may_be_more then
    table.insert(rows, OLDER)
    log.older = #rows
  end
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, rows)
  vim.bo[buffer].modifiable = false
  for line, turn in pairs(log.turns) do
    for window, id in pairs(cursors) do
      if id == turn.id then
        vim.api.nvim_win_set_cursor(window, { line, 0 })
      end
    end
  end
end

-- Show the list of turns anew, if it is open.
function M.refresh_log(tree)
  local buffer = vim.fn.bufnr(LOG_NAME)
  if buffer ~= -1 and log.tree.top == tree.top then
    fill_log(buffer, tree, log.limit, read_turns(tree, nil, log.limit))
  end
end

-- The list of turns in a window: the keys show what the one under the cursor did, go back to it,
-- take it back, or pick it.
function M.log(tree)
  local turns, may_be_more = read_turns(tree, nil, FIRST_PAGE)
  if #turns == 0 then
    error("there are no turns", 0)
  end
  close()
  vim.cmd("silent botright new")
  vim.cmd("setlocal buftype=nofile bufhidden=wipe noswapfile nowrap cursorline filetype=boocode-log")
  local buffer = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_name(buffer, LOG_NAME)
  fill_log(buffer, tree, FIRST_PAGE, turns, may_be_more)
  vim.api.nvim_win_set_cursor(0, { log.turns[1] and 1 or 2, 0 })
  local shown
  local function on_turn(action)
    local act = task.command(action)
    return function()
      local turn = log.turns[vim.fn.line(".")]
      if turn then
        act(turn)
      end
    end
  end
  local function map(key, action)
    vim.keymap.set("n", key, action, { buffer = buffer, nowait = true })
  end
  local show = on_turn(function(turn)
    shown = turn.id
    show_diff(tree, turn)
  end)
  map("<CR>", function()
    if vim.fn.line(".") == log.older then
      log.limit = log.limit * 4
      task.command(M.refresh_log)(tree)
    else
      show()
    end
  end)
  map(
    "r",
    on_turn(function(turn)
      M.restore_to(tree, turn, {}, { "before", "after" })
    end)
  )
  for key, tool in pairs({ t = "revert", p = "pick" }) do
    map(
      key,
      on_turn(function(turn)
        merge(tree, turn, tool)
      end)
    )
  end
  map("q", close)
  vim.api.nvim_create_autocmd("CursorMoved", {
    buffer = buffer,
    callback = function()
      local turn = log.turns[vim.fn.line(".")]
      if turn and vim.fn.bufwinid(DIFF_NAME) ~= -1 and turn.id ~= shown then
        show()
      end
    end,
  })
end

return M
