import { SILENCE_DBFS } from '../../../wire/bands.ts'
import type { Recurrence } from '../../../wire/schedules.ts'
import type { ChannelVerdict } from '../../../wire/soundreadings.ts'
import type { Words } from '../en.ts'
import { counted } from './counted.ts'

const WEEKDAYS: Record<string, string> = {
  monday: 'Montag',
  tuesday: 'Dienstag',
  wednesday: 'Mittwoch',
  thursday: 'Donnerstag',
  friday: 'Freitag',
  saturday: 'Samstag',
  sunday: 'Sonntag',
}

const minutes = (s: number): string =>
  s % 60 === 0 ? counted(s / 60, 'Minute', 'Minuten') : counted(s, 'Sekunde', 'Sekunden')

const times = ({ endTime, startTime }: { endTime: string; startTime: string }): string =>
  `${startTime} bis ${endTime}${endTime <= startTime ? ' am nächsten Tag' : ''}`

function rule(r: Recurrence, at: (instant: string) => string): string {
  switch (r.mode) {
    case 'manual':
      return 'Nur wenn jemand sie beginnt'
    case 'always_on':
      return 'Immer'
    case 'once':
      return `Einmal, ${at(r.startsAt)}${r.durationSeconds === undefined ? '' : `, ${minutes(r.durationSeconds)} lang`}`
    case 'daily':
      return `${r.interval === 1 ? 'Jeden Tag' : `Alle ${r.interval} Tage`}, ${times(r)}`
    case 'weekly':
      return `${r.interval === 1 ? 'Jede Woche' : `Alle ${r.interval} Wochen`} am ${r.daysOfWeek.map((day) => WEEKDAYS[day]).join(', ')}, ${times(r)}`
    case 'monthly':
      return `${r.interval === 1 ? 'Jeden Monat' : `Alle ${r.interval} Monate`} am ${r.dayOfMonth}., ${times(r)}`
  }
}

function buffers({ startEarlySeconds = 0, stopLateSeconds = 0 }: Recurrence): string {
  return [
    startEarlySeconds > 0 && `Beginn ${minutes(startEarlySeconds)} früher`,
    stopLateSeconds > 0 && `Ende ${minutes(stopLateSeconds)} später`,
  ]
    .filter(Boolean)
    .map((part) => `, ${part}`)
    .join('')
}

export const schedule: Words['schedule'] = {
  title: 'Plan',
  views: { week: 'Woche', day: 'Tag', rooms: 'Räume', list: 'Liste' },
  new: 'Neuer Plan',
  edit: 'Plan bearbeiten',
  print: 'Drucken',
  previous: 'Früher',
  next: 'Später',
  today: 'Heute',
  jump: 'Zum Datum',
  zone: (zone) => `Zeiten von ${zone}`,
  keys: 'Eingabe hebt eine Karte an, Pfeile bewegen sie, Eingabe legt sie ab, Escape bricht das Verschieben ab.',
  lost: 'Diese Stunde gibt es nicht: die Uhr wird vorgestellt.',
  doubled: 'Diese Stunde gibt es zweimal: die Uhr wird zurückgestellt.',
  crowded: 'Zu vieles gleichzeitig. Wählen Sie oben einen Raum oder sehen Sie den Tag nach Räumen an.',
  noDay: 'Wählen Sie mindestens einen Tag.',
  truncated: 'Nicht alles ist zu sehen. Grenzen Sie es mit den Filtern ein.',
  nothing: 'Hier ist nichts geplant.',
  room: 'Raum',
  search: 'Pläne suchen',
  name: 'Name',
  rule: 'Wann',
  nextRun: 'Als Nächstes',
  off: 'aus',
  enabled: 'Eingeschaltet',
  until: (to) => `bis ${to}`,
  lifted: (name) => `${name} ist angehoben.`,
  at: (name, when) => `${name}: ${when}`,
  edge: (at) => `${at}. Weiter reichen die gezeigten Tage nicht: mit Eingabe wählen Sie ein anderes Datum.`,
  back: (name) => `${name} ist wieder, wo es war.`,
  move: 'Verschieben',
  moveTitle: (name) => `${name} verschieben`,
  moveExplained: 'Verschiebt diesen einen Termin; die Reihe bleibt.',
  from: 'Von',
  to: 'Nach',
  recorder: 'Rekorder',
  anyRecorder: 'keiner',
  clash: 'Dann ist der Rekorder beschäftigt:',
  movedTo: (when) => `Verschoben auf ${when}.`,
  open: 'Zum Plan',
  skipNext: 'Nächsten auslassen',
  skipped: 'Der nächste wird ausgelassen.',
  runNow: 'Jetzt aufnehmen',
  started: 'Die Aufnahme ist angefordert.',
  duplicate: 'Duplizieren',
  deleteTitle: (name) => `${name} löschen`,
  deleteExplained: 'Die Aufnahmen bleiben. Nach diesem Plan wird nichts mehr aufgenommen.',
  states: { true: 'ein', false: 'aus' },
  turnOn: 'Einschalten',
  turnOff: 'Ausschalten',
  turnedOn: (n) => `${counted(n, 'Plan ist', 'Pläne sind')} eingeschaltet.`,
  turnedOff: (n) => `${counted(n, 'Plan ist', 'Pläne sind')} ausgeschaltet.`,
  deleteMany: (n) => `${counted(n, 'Plan', 'Pläne')} löschen`,
  deletedMany: (n) => `${counted(n, 'Plan ist', 'Pläne sind')} gelöscht.`,
  deleteManyExplained:
    'Die Aufnahmen bleiben. Nach diesen Plänen wird nichts mehr aufgenommen; das lässt sich nicht rückgängig machen.',
  occurrences: 'Nächste Termine',
  noOccurrences: 'Es kommt keiner mehr.',
  exceptions: 'Ausnahmen',
  skip: (date) => `Ausgelassen am ${date}`,
  movedAway: (date) => `Verschoben, früher am ${date}`,
  leaveOut: 'Tage auslassen',
  firstDay: 'Tag, oder der erste von mehreren',
  lastDay: 'Letzter Tag',
  lastDayHint: 'Leer: nur dieser eine Tag.',
  why: 'Grund',
  moveBack: 'Zurückverschieben',
  movedFromTo: (date) => `Vom ${date} verschoben auf`,
  elsewhere: (time, zone) => `(${time} ${zone})`,
  pause: (from, to) => `Pause vom ${from} bis ${to}`,
  takes: 'Aufnahmen',
  interface: 'Tongerät',
  channels: 'Kanäle (keiner angekreuzt: alle)',
  anyDevice: 'welches da ist',
  usual: 'Vorgabe des Standorts',
  placeholders: 'Was in {{ }} steht, wird je Aufnahme eingesetzt: schedule.name, room, site, node.alias, date, time.',
  roomHint: 'Der Name, den der Plan zeigt. Wer die Aufnahmen sehen darf, hängt von den Räumen der Kanäle ab.',
  profile: 'Profil',
  zoneField: 'Zeitzone',
  zoneHint: 'Wie Europe/Berlin oder America/New_York: beginnen Sie mit der Stadt.',
  mode: 'Wie oft',
  modes: {
    weekly: 'wöchentlich',
    daily: 'täglich',
    monthly: 'monatlich',
    once: 'einmal',
    always_on: 'immer',
    manual: 'nur von Hand',
  },
  weekdays: WEEKDAYS,
  days: 'Tage',
  startTime: 'Von',
  endTime: 'Bis',
  interval: 'Wiederholen alle … Tage, Wochen oder Monate',
  dayOfMonth: 'Tag des Monats',
  startsAt: 'Beginnt',
  duration: 'Länge, Minuten (leer: bis jemand sie beendet)',
  early: 'Früher beginnen, Minuten',
  late: 'Später enden, Minuten',
  titles: 'Name der Aufnahmen',
  folder: 'Ordner der Aufnahmen',
  tags: 'Schlagwörter, durch Kommas getrennt',
  rest: 'Mehr',
  uploads: 'Kopiert nach (keines angekreuzt: nirgendwohin)',
  uploadsUsual: 'Kopiert nach (keines angekreuzt: wie der Standort eingestellt ist)',
  retention: 'Wie lange Aufnahmen bleiben',
  watchdog: 'Überwachung',
  channelMode: 'Kanäle der Aufnahme',
  asProfile: 'wie im Profil',
  people: 'Personen, die den Raum dann sehen und bedienen',
  groups: 'Gruppen, die den Raum dann sehen und bedienen',
  assignPerson: 'Person zuweisen',
  assignGroup: 'Gruppe zuweisen',
  assignSame: (n) => `Dieselben zuweisen: ${counted(n, 'Person oder Gruppe', 'Personen und Gruppen')}`,
  assignedStay: (n) => `Zugewiesen und unverändert: ${counted(n, 'Person oder Gruppe', 'Personen und Gruppen')}.`,
  sentence: (r, zone, at) => `${rule(r, at)}, ${zone}${buffers(r)}.`,
}

function remedy({ peerChannelIndex, verdict }: ChannelVerdict): string {
  switch (verdict) {
    case 'ok':
      return ''
    case 'dead':
      return 'Prüfen Sie Kabel und Stromversorgung, und ob das Mikrofon stumm geschaltet ist.'
    case 'hum':
      return 'Suchen Sie ein offenes oder halb gestecktes Kabel und eine Erdschleife.'
    case 'clipping':
      return 'Verringern Sie die Verstärkung.'
    case 'identical':
      return `Gleicher Ton wie Eingang ${peerChannelIndex}. Prüfen Sie, welches Mikrofon in welchem Eingang steckt.`
    case 'unlike':
      return 'Klingt wie sonst, aber viel lauter oder leiser als je zuvor. Prüfen Sie die Verstärkung.'
  }
}

const dbfs = (value: number): string => `${Math.round(value)} dBFS`

function heard({ floorDbfs, humDbfs, peakDbfs, usualFloorDbfs, verdict }: ChannelVerdict): string {
  if (floorDbfs <= SILENCE_DBFS) return 'Digitale Stille.'
  const usual = usualFloorDbfs === undefined ? '' : ` (sonst ${dbfs(usualFloorDbfs)})`
  const quiet = `${dbfs(floorDbfs)} in stillen Momenten${usual}, Spitze ${dbfs(peakDbfs)}`
  return verdict === 'hum' ? `${quiet}, Brummen ${dbfs(humDbfs)}` : quiet
}

export const preflight: Words['preflight'] = {
  title: 'Vor der letzten Aufnahme gehört',
  never:
    'Noch nichts. Kurz vor einer geplanten Aufnahme öffnet der Rekorder sein Tongerät für einen Moment und hört hin; was er hörte, steht dann hier.',
  heardAt: 'Gehört',
  startsAt: 'Vor der Aufnahme von',
  well: 'Jeder Kanal klang, wie er soll.',
  notWell: 'Etwas war nicht in Ordnung.',
  unopened: 'Das Tongerät ließ sich nicht öffnen:',
  openIt: 'Prüfen Sie, ob es angeschlossen ist und kein anderes Programm es benutzt.',
  channel: 'Eingang',
  verdict: 'Urteil',
  what: 'Was zu hören war',
  toDo: 'Was zu tun ist',
  verdicts: {
    ok: 'in Ordnung',
    dead: 'kein Mikrofon',
    hum: 'Brummen',
    clipping: 'übersteuert',
    identical: 'doppelt',
    unlike: 'anderer Pegel',
  },
  heard,
  remedy,
}
