// Before the first paint: the chosen theme, so that nothing flashes, and a word where the browser is too old for the rest.
try {
  const theme = localStorage.getItem('roomtone.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Storage may be forbidden: the system's theme it is.
}

const isAble = (): boolean =>
  'any' in AbortSignal && 'groupBy' in Map && CSS.supports('color', 'light-dark(#000, #fff)')
if (!isAble())
  document.addEventListener('DOMContentLoaded', () => document.getElementById('old')?.removeAttribute('hidden'))
