// All styles are one sheet, loaded with the first page: a part that is loaded later brings none of its own.
import './base.css'
import '../alerts/alerts.module.css'
import '../app/login.module.css'
import '../app/shell.module.css'
import '../listen/dock.module.css'
import '../meters/strip.module.css'
import '../ui/ui.module.css'
import '../waveform/player.module.css'
