-- Defines the commands when Neovim starts.

if vim.g.loaded_boocode or vim.fn.has("nvim-0.7") == 0 then
  return
end
vim.g.loaded_boocode = true
require("boocode").setup()
