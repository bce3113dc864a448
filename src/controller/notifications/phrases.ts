// What messages say, in each language; what each kind of alert says is in src/wire/alerts.<language>.ts.
import { alert as alertDe } from '../../wire/alerts.de.ts'
import { alert as alertEn } from '../../wire/alerts.en.ts'
import type { Severity } from '../../wire/health.ts'

export const LANGUAGES = ['en', 'de'] as const
type Language = (typeof LANGUAGES)[number]

/** What a page of one link says. */
interface Page {
  language: Language
  paragraph: string
  title: string
}

/** A day in numbers, as the report tells it. */
export interface Figures {
  due: number
  failedTakes: number
  late: number
  loudness: number
  made: number
  openAlerts: number
  openUploads: number
  running: number
  updates: number
}

export interface Phrases {
  acknowledge: string
  acknowledged: Page
  acknowledgeQuestion: (type: string) => Page
  alert: (type: string) => string
  alreadyHandled: Page
  digest: (count: number) => string
  digestHint: string
  escalated: (sentence: string, minutes: number) => string
  escalationHint: string
  facts: Record<
    | 'alerts'
    | 'begins'
    | 'controllerDisk'
    | 'ended'
    | 'failed'
    | 'late'
    | 'loudness'
    | 'recorder'
    | 'room'
    | 'running'
    | 'schedule'
    | 'since'
    | 'site'
    | 'take'
    | 'updates'
    | 'uploads',
    string
  >
  free: (gigabytes: number, percent: number) => string
  late: (take: string, seconds: number) => string
  language: Language
  linkGone: Page
  locale: string
  /** It ended because its recording is due, not because the trouble did. */
  due: (sentence: string) => string
  over: (sentence: string) => string
  quiet: string
  reportAllWell: string
  reportDisks: string
  reportLate: string
  reportLost: string
  reported: ({ due, made }: Figures) => string
  severity: Record<Severity, string>
  test: (sender: string) => string
  testHint: (sender: string) => string
  tooMany: Page
}

const en: Phrases = {
  acknowledge: 'I am taking care of it',
  acknowledged: {
    language: 'en',
    paragraph: 'Everybody else sees that it is being taken care of. You can close this page.',
    title: 'Acknowledged',
  },
  acknowledgeQuestion: (type) => ({
    language: 'en',
    paragraph: 'Press the button to tell everybody else that you are taking care of it.',
    title: alertEn(type),
  }),
  alert: alertEn,
  alreadyHandled: {
    language: 'en',
    paragraph: 'It is over, or somebody is taking care of it. There is nothing to do here.',
    title: 'Already taken care of',
  },
  digest: (count) => `${count} more messages in one`,
  digestHint: 'So much happened at once that the rest comes as one list, by kind and place.',
  escalated: (sentence, minutes) => `Nobody has acknowledged for ${minutes} min: ${sentence}`,
  escalationHint: 'You get this because nobody has acknowledged it.',
  facts: {
    alerts: 'Alerts that are open',
    begins: 'Begins',
    controllerDisk: 'Disk of the controller',
    ended: 'Over since',
    failed: 'Not recorded whole',
    late: 'Begun late',
    loudness: 'Too quiet or too loud',
    recorder: 'Recorder',
    room: 'Room',
    running: 'Still recording',
    schedule: 'Schedule',
    since: 'Since',
    site: 'Site',
    take: 'Recording',
    updates: 'Recorders with an update waiting',
    uploads: 'Uploads not finished',
  },
  free: (gigabytes, percent) => `${gigabytes} GB free (${percent} %)`,
  late: (take, seconds) => `${take}: begun ${seconds} s late`,
  language: 'en',
  linkGone: {
    language: 'en',
    paragraph: 'It was used, or has expired. Open the console to see how things are.',
    title: 'This link is no longer good',
  },
  locale: 'en-GB',
  due: (sentence) => `Time is up: ${sentence}`,
  over: (sentence) => `Over: ${sentence}`,
  quiet: 'Nothing was scheduled',
  reportAllWell: 'Nothing needs you.',
  reportDisks: 'Disks of recorders filling up',
  reportLate: 'The beginning of these is missing:',
  reportLost: 'Look at these first: something that was scheduled was not recorded whole.',
  reported: ({ due, made }) => `${made} of ${due} recorded`,
  severity: { critical: 'Critical', info: 'Information', warning: 'Warning' },
  test: (sender) => `Test message from ${sender}`,
  testHint: (sender) => `This channel works: what ${sender} has to tell arrives here.`,
  tooMany: {
    language: 'en',
    paragraph: 'This was pressed too often. Wait a minute, then open the link again.',
    title: 'Too many requests',
  },
}

const de: Phrases = {
  acknowledge: 'Ich kümmere mich darum',
  acknowledged: {
    language: 'de',
    paragraph: 'Alle anderen sehen nun, dass sich jemand kümmert. Die Seite kann geschlossen werden.',
    title: 'Bestätigt',
  },
  acknowledgeQuestion: (type) => ({
    language: 'de',
    paragraph: 'Mit dem Knopf erfahren alle anderen, dass Sie sich darum kümmern.',
    title: alertDe(type),
  }),
  alert: alertDe,
  alreadyHandled: {
    language: 'de',
    paragraph: 'Es ist vorbei, oder jemand kümmert sich. Hier ist nichts zu tun.',
    title: 'Schon erledigt',
  },
  digest: (count) => `${count} weitere Meldungen in einer`,
  digestHint: 'Es geschah so viel auf einmal, dass der Rest als eine Liste kommt, nach Art und Ort.',
  escalated: (sentence, minutes) => `Seit ${minutes} min hat es niemand bestätigt: ${sentence}`,
  escalationHint: 'Sie erhalten dies, weil es niemand bestätigt hat.',
  facts: {
    alerts: 'Offene Meldungen',
    begins: 'Beginnt',
    controllerDisk: 'Platte der Zentrale',
    ended: 'Vorbei seit',
    failed: 'Nicht ganz aufgenommen',
    late: 'Zu spät begonnen',
    loudness: 'Zu leise oder zu laut',
    recorder: 'Rekorder',
    room: 'Raum',
    running: 'Läuft noch',
    schedule: 'Plan',
    since: 'Seit',
    site: 'Standort',
    take: 'Aufnahme',
    updates: 'Rekorder mit wartender Aktualisierung',
    uploads: 'Nicht beendete Uploads',
  },
  free: (gigabytes, percent) => `${gigabytes} GB frei (${percent.toLocaleString('de')} %)`,
  late: (take, seconds) => `${take}: ${seconds} s zu spät begonnen`,
  language: 'de',
  linkGone: {
    language: 'de',
    paragraph: 'Er wurde benutzt oder ist abgelaufen. Die Konsole zeigt, wie es steht.',
    title: 'Dieser Link gilt nicht mehr',
  },
  locale: 'de-DE',
  due: (sentence) => `Die Zeit ist um: ${sentence}`,
  over: (sentence) => `Vorbei: ${sentence}`,
  quiet: 'Nichts war geplant',
  reportAllWell: 'Nichts ist zu tun.',
  reportDisks: 'Volle Platten von Rekordern',
  reportLate: 'Bei diesen fehlt der Anfang:',
  reportLost: 'Zuerst ansehen: Geplantes wurde nicht ganz aufgenommen.',
  reported: ({ due, made }) => `${made} von ${due} aufgenommen`,
  severity: { critical: 'Kritisch', info: 'Hinweis', warning: 'Warnung' },
  test: (sender) => `Testnachricht von ${sender}`,
  testHint: (sender) => `Dieser Kanal funktioniert: Meldungen von ${sender} kommen hier an.`,
  tooMany: {
    language: 'de',
    paragraph: 'Der Knopf wurde zu oft gedrückt. Warten Sie eine Minute und öffnen Sie den Link noch einmal.',
    title: 'Zu viele Anfragen',
  },
}

export const PHRASES: Record<Language, Phrases> = { de, en }
