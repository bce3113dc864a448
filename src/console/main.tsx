import './style/sheets.ts'
import { render } from 'preact'
import { App } from './app/app.tsx'
import { Speaker } from './words/speaker.tsx'

const root = document.getElementById('app')
if (root)
  render(
    <Speaker>
      <App />
    </Speaker>,
    root,
  )
