import './style/sheets.ts'
import { render } from 'preact'
import { App } from './app/app.tsx'
import { en } from './words/en.ts'
import { WordsContext } from './words/words.ts'

const root = document.getElementById('app')
if (root)
  render(
    <WordsContext.Provider value={en}>
      <App />
    </WordsContext.Provider>,
    root,
  )
