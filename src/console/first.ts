// Before the first paint: the chosen theme, so that nothing flashes.
try {
  const theme = localStorage.getItem('roomtone.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Storage may be forbidden: the system's theme it is.
}
