import { SILENCE_DBFS } from '../../../wire/bands.ts'
import type { Recurrence } from '../../../wire/schedules.ts'
import type { ChannelVerdict, SoundVerdict } from '../../../wire/soundreadings.ts'
import { counted } from './counted.ts'

const WEEKDAYS: Record<string, string> = {
  monday: 'Monday',
  tuesday: 'Tuesday',
  wednesday: 'Wednesday',
  thursday: 'Thursday',
  friday: 'Friday',
  saturday: 'Saturday',
  sunday: 'Sunday',
}

const every = (n: number, one: string, other: string): string => (n === 1 ? `Every ${one}` : `Every ${n} ${other}`)

const minutes = (s: number): string =>
  s % 60 === 0 ? counted(s / 60, 'minute', 'minutes') : counted(s, 'second', 'seconds')

const times = ({ endTime, startTime }: { endTime: string; startTime: string }): string =>
  `${startTime} to ${endTime}${endTime <= startTime ? ' the next day' : ''}`

function rule(r: Recurrence, at: (instant: string) => string): string {
  switch (r.mode) {
    case 'manual':
      return 'Only when somebody starts it'
    case 'always_on':
      return 'All the time'
    case 'once':
      return `Once, ${at(r.startsAt)}${r.durationSeconds === undefined ? '' : `, ${minutes(r.durationSeconds)} long`}`
    case 'daily':
      return `${every(r.interval, 'day', 'days')}, ${times(r)}`
    case 'weekly':
      return `${every(r.interval, 'week', 'weeks')} on ${r.daysOfWeek.map((day) => WEEKDAYS[day]).join(', ')}, ${times(r)}`
    case 'monthly':
      return `${every(r.interval, 'month', 'months')} on day ${r.dayOfMonth}, ${times(r)}`
  }
}

function buffers({ startEarlySeconds = 0, stopLateSeconds = 0 }: Recurrence): string {
  return [
    startEarlySeconds > 0 && `starting ${minutes(startEarlySeconds)} early`,
    stopLateSeconds > 0 && `ending ${minutes(stopLateSeconds)} late`,
  ]
    .filter(Boolean)
    .map((part) => `, ${part}`)
    .join('')
}

export const schedule = {
  title: 'Schedule',
  views: { week: 'Week', day: 'Day', rooms: 'Rooms', list: 'List' },
  new: 'New schedule',
  edit: 'Edit schedule',
  print: 'Print',
  previous: 'Earlier',
  next: 'Later',
  today: 'Today',
  jump: 'Go to date',
  zone: (zone: string) => `Times of ${zone}`,
  keys: 'Enter lifts a card, the arrows move it, enter drops it, escape cancels the move.',
  lost: 'This hour does not exist: clocks go forward.',
  doubled: 'This hour comes twice: clocks go back.',
  crowded: 'Too much at once to show here. Choose a room above, or look at the day by rooms.',
  noDay: 'Choose at least one day.',
  truncated: 'Not everything is shown. Narrow it with the filters.',
  nothing: 'Nothing is scheduled here.',
  room: 'Room',
  search: 'Search schedules',
  name: 'Name',
  rule: 'When',
  nextRun: 'Next',
  off: 'off',
  enabled: 'Enabled',
  until: (to: string) => `until ${to}`,
  lifted: (name: string) => `${name} is lifted.`,
  at: (name: string, when: string) => `${name}: ${when}`,
  edge: (at: string) => `${at}. No further than the days shown: press Enter to choose another date.`,
  back: (name: string) => `${name} is back where it was.`,
  move: 'Move',
  moveTitle: (name: string) => `Move ${name}`,
  moveExplained: 'Moves this one occurrence; the series stays.',
  from: 'From',
  to: 'To',
  recorder: 'Recorder',
  anyRecorder: 'none',
  clash: 'The recorder is busy then:',
  movedTo: (when: string) => `Moved to ${when}.`,
  open: 'Open the schedule',
  skipNext: 'Skip the next',
  skipped: 'The next one is skipped.',
  runNow: 'Record now',
  started: 'Recording has been asked for.',
  duplicate: 'Duplicate',
  deleteTitle: (name: string) => `Delete ${name}`,
  deleteExplained: 'Its takes stay. Nothing more is recorded by it.',
  states: { true: 'on', false: 'off' },
  turnOn: 'Turn on',
  turnOff: 'Turn off',
  turnedOn: (n: number) => `${counted(n, 'schedule is', 'schedules are')} on.`,
  turnedOff: (n: number) => `${counted(n, 'schedule is', 'schedules are')} off.`,
  deleteMany: (n: number) => `Delete ${counted(n, 'schedule', 'schedules')}`,
  deletedMany: (n: number) => `${counted(n, 'schedule is', 'schedules are')} deleted.`,
  deleteManyExplained: 'Their takes stay. Nothing more is recorded by these schedules. This cannot be undone.',
  occurrences: 'Next occurrences',
  noOccurrences: 'None to come.',
  exceptions: 'Exceptions',
  skip: (date: string) => `Skipped on ${date}`,
  movedAway: (date: string) => `Moved away from ${date}`,
  leaveOut: 'Leave days out',
  firstDay: 'Day, or the first of several',
  lastDay: 'Last day',
  lastDayHint: 'Empty: only that one day.',
  why: 'Reason',
  moveBack: 'Move back',
  movedFromTo: (date: string) => `Moved away from ${date} to`,
  elsewhere: (time: string, zone: string) => `(${time} ${zone})`,
  pause: (from: string, to: string) => `Paused from ${from} to ${to}`,
  takes: 'Takes',
  interface: 'Sound device',
  channels: 'Channels (none ticked: all)',
  anyDevice: 'whichever is there',
  usual: 'site default',
  placeholders: 'Text in {{ }} is filled in for each take: schedule.name, room, site, node.alias, date, time.',
  roomHint: 'The name shown in the schedule. Who may see the takes depends on the rooms of the channels.',
  profile: 'Profile',
  zoneField: 'Time zone',
  zoneHint: 'As in Europe/Berlin or America/New_York: begin to type a city.',
  mode: 'How often',
  modes: {
    weekly: 'weekly',
    daily: 'daily',
    monthly: 'monthly',
    once: 'once',
    always_on: 'all the time',
    manual: 'only by hand',
  } as Record<Recurrence['mode'], string>,
  weekdays: WEEKDAYS,
  days: 'Days',
  startTime: 'From',
  endTime: 'To',
  interval: 'Repeat every (days, weeks or months)',
  dayOfMonth: 'Day of the month',
  startsAt: 'Begins',
  duration: 'Length, minutes (empty: until somebody stops it)',
  early: 'Start early by, minutes',
  late: 'End late by, minutes',
  titles: 'Name of the takes',
  folder: 'Folder of the takes',
  tags: 'Tags, comma-separated',
  rest: 'More',
  uploads: 'Copied to (none ticked: nowhere)',
  uploadsUsual: 'Copied to (none ticked: as the site is set)',
  retention: 'How long takes are kept',
  watchdog: 'Watchdog',
  channelMode: 'Channels of the take',
  asProfile: 'as the profile says',
  people: 'People who may see and operate the room then',
  groups: 'Groups who may see and operate the room then',
  assignPerson: 'Assign a person',
  assignGroup: 'Assign a group',
  assignSame: (n: number) => `Assign the same ${counted(n, 'person or group', 'people and groups')}`,
  assignedStay: (n: number) => `${counted(n, 'person or group is', 'people and groups are')} assigned; that stays.`,
  /** `at` writes an instant in that zone. */
  sentence: (r: Recurrence, zone: string, at: (instant: string) => string) => `${rule(r, at)}, ${zone}${buffers(r)}.`,
}

const verdicts: Record<SoundVerdict, string> = {
  ok: 'in order',
  dead: 'no microphone',
  hum: 'hum',
  clipping: 'clips',
  identical: 'twice the same',
  unlike: 'other level',
}

/** What to do about a channel; nothing where all is well. */
function remedy({ peerChannelIndex, verdict }: ChannelVerdict): string {
  switch (verdict) {
    case 'ok':
      return ''
    case 'dead':
      return 'Check its cable, its power and whether it is muted.'
    case 'hum':
      return 'Check for a cable that is open or half plugged in, and for a ground loop.'
    case 'clipping':
      return 'Turn its gain down.'
    case 'identical':
      return `Carries the same sound as input ${peerChannelIndex}. Check which input each microphone is plugged into.`
    case 'unlike':
      return 'Sounds as usual, but much louder or fainter than it ever was. Check its gain.'
  }
}

const dbfs = (value: number): string => `${Math.round(value)} dBFS`

function heard({ floorDbfs, humDbfs, peakDbfs, usualFloorDbfs, verdict }: ChannelVerdict): string {
  if (floorDbfs <= SILENCE_DBFS) return 'Digital silence.'
  const usual = usualFloorDbfs === undefined ? '' : ` (usual: ${dbfs(usualFloorDbfs)})`
  const quiet = `${dbfs(floorDbfs)} in quiet moments${usual}, peak ${dbfs(peakDbfs)}`
  return verdict === 'hum' ? `${quiet}, hum ${dbfs(humDbfs)}` : quiet
}

export const preflight = {
  title: 'Heard before the last take',
  never:
    'Nothing yet. Shortly before a scheduled take the recorder opens its sound device for a moment and listens; what it heard will stand here.',
  heardAt: 'Heard',
  startsAt: 'Before the take of',
  well: 'Every channel sounded as it should.',
  notWell: 'Something was not in order.',
  unopened: 'The sound device could not be opened:',
  openIt: 'Check that it is connected, and that no other program uses it.',
  channel: 'Input',
  verdict: 'Verdict',
  what: 'What was heard',
  toDo: 'What to do',
  verdicts,
  heard,
  remedy,
}
