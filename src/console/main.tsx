// All styles are one sheet, loaded with the first page: a part that is loaded later brings none of its own.
import './style/base.css'
import './alerts/alerts.module.css'
import './app/login.module.css'
import './app/shell.module.css'
import './listen/dock.module.css'
import './meters/strip.module.css'
import './onboard/onboard.module.css'
import './rooms/label.module.css'
import './schedule/grid.module.css'
import './ui/ui.module.css'
import './wall/wall.module.css'
import './waveform/player.module.css'
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
