import './style/sheets.ts'
import { render } from 'preact'
import { App } from './app/app.tsx'
import { WordsProvider } from './words/provider.tsx'

const root = document.getElementById('app')
if (root)
  render(
    <WordsProvider>
      <App />
    </WordsProvider>,
    root,
  )
