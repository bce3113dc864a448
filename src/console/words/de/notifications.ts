import type { Words } from '../en.ts'
import { counted } from './counted.ts'

type Texts = Words['notifications']

const families: Texts['families'] = {
  watchdog: {
    name: 'Überwachung',
    what: 'Aufnahmen, die still sind, übersteuern oder brummen; Rekorder ohne Verbindung; ablaufende Zertifikate.',
  },
  agent: {
    name: 'Rekorder',
    what: 'Was Rekorder über sich melden: Tongeräte, Speicherplatz, Uhr, nicht gelungene Aufnahmen.',
  },
  schedule: { name: 'Pläne', what: 'Geplante Aufnahmen, die nicht beginnen können.' },
  foresight: { name: 'Vorausschau', what: 'Was in den nächsten Stunden schiefgeht, wenn niemand eingreift.' },
  controller: {
    name: 'Zentrale',
    what: 'Fehlgeschlagene Aufnahmen und Übertragungen, und Nachrichten, die nicht ankommen.',
  },
  recording: { name: 'Gespeicherte Aufnahmen', what: 'Aufnahmen, die an ihrem Ziel fehlen oder verändert sind.' },
  switcher: { name: 'Umschalter', what: 'AV-Umschalter, die nicht antworten.' },
}

const preview: Texts['preview'] = ({ days, events, isLowerBound, messages }) => {
  const since = `In den letzten ${days} Tagen`
  if (events === 0) return `${since} wäre so nichts gesendet worden.`
  const least = isLowerBound ? 'mindestens ' : ''
  const verb = messages === 1 ? 'wäre' : 'wären'
  return `${since} ${verb} so ${least}${counted(messages, 'Nachricht', 'Nachrichten')} zu ${counted(events, 'Meldung', 'Meldungen')} gesendet worden.`
}

export const notifications: Texts = {
  title: 'Benachrichtigungen',
  setUp: 'Kanäle und Regeln',
  channels: 'Kanäle',
  channelsExplained:
    'Auf welchen Wegen Nachrichten gehen können: ein Mailserver, ein Webhook eines anderen Programms oder ntfy auf dem Telefon.',
  newChannel: 'Neuer Kanal',
  noChannels: 'Noch kein Kanal: Niemand kann benachrichtigt werden.',
  channelStatus: { disabled: 'aus', failing: 'gestört', ready: 'bereit' },
  carriesPeople: 'für persönliche Mails',
  lastSent: 'Zuletzt gesendet:',
  neverSent: 'Noch nichts gesendet',
  lastError: 'Letzter Fehler:',
  test: 'Test senden',
  testing: 'Der Test wird gesendet. Das kann bis zu 15 Sekunden dauern.',
  tested: 'Die Testnachricht wurde angenommen.',
  notTested: 'Die Testnachricht kam nicht an:',
  usedByRules: (n) => (n === 0 ? 'Keine Regel verwendet ihn.' : `Verwendet von ${counted(n, 'Regel', 'Regeln')}:`),
  linkless:
    'Nachrichten enthalten keine Links: Die Zentrale kennt ihre eigene Adresse nicht. Setzen Sie dort SVC_PUBLIC_URL, dann lassen sich Meldungen aus einer Nachricht heraus öffnen und zur Kenntnis nehmen.',
  rules: 'Regeln',
  rulesExplained: 'Wer wovon erfährt. Ohne Regel stehen Meldungen nur in dieser Konsole.',
  newRule: 'Neue Regel',
  noRules: 'Noch keine Regel: Niemand erfährt von etwas.',
  channelFirst: 'Eine Regel braucht einen Kanal: Legen Sie zuerst einen an.',
  placeCount: (n) => counted(n, 'Ort', 'Orte'),
  gone: 'gelöscht',
  channel: 'Kanal',
  severity: 'Ab welchem Schweregrad',
  from: { critical: 'Nur Kritisches', warning: 'Warnungen und Kritisches', info: 'Jeder Schweregrad' },
  kinds: 'Welche Meldungen',
  everything: 'Alles',
  families,
  noKinds: 'Ist hier nichts gewählt, sendet die Regel nur den Tagesbericht, falls sie einen hat.',
  onlyReport: 'Nur der Tagesbericht',
  types: 'Andere nach ihrem Typ, durch Kommas getrennt',
  typesHint: 'Zum Beispiel watchdog.flatline; * steht für beliebigen Text.',
  where: 'Nur an bestimmten Orten',
  whereHint: 'Jede ausgefüllte Liste schränkt ein: an diesen Standorten, in diesen Räumen, an diesen Rekordern.',
  only: { node: 'Rekorder', room: 'Räume', site: 'Standorte' },
  add: { node: 'Rekorder hinzufügen', room: 'Raum hinzufügen', site: 'Standort hinzufügen' },
  resolved: 'Auch das Ende mitteilen',
  throttle: 'Dasselbe höchstens alle (Minuten)',
  escalate: 'Wenn es niemand zur Kenntnis nimmt, auch an',
  nobody: 'niemanden',
  escalateAfter: 'Nach (Minuten)',
  quiet: 'Ruhezeiten',
  quietFrom: 'Von',
  quietTo: 'Bis',
  quietExcept: 'Trotzdem mitteilen',
  daily: 'Tagesbericht',
  dailyHint: 'Was in den 24 Stunden davor fällig war und aufgenommen wurde, was fehlt und was zu tun ist.',
  dailyAt: 'Um',
  preview,
  previewNothing: 'Wählen Sie, was mitgeteilt wird. Hier steht dann, wie viel das gewesen wäre.',
  deliveries: 'Gesendete Nachrichten',
  noDeliveries: 'Keine passenden Nachrichten.',
  rule: 'Regel',
  when: 'Wann',
  what: 'Was',
  status: { queued: 'wartet', sending: 'wird gesendet', sent: 'gesendet', failed: 'fehlgeschlagen' },
  deliveryKinds: {
    event: 'Meldung',
    resolved: 'Meldung ist vorbei',
    escalation: 'Wenn niemand reagiert',
    report: 'Tagesbericht',
    test: 'Testnachricht',
  },
  attempts: (n) => counted(n, 'Versuch', 'Versuche'),
  nextAt: 'wieder:',
  ownMail: 'Ihre eigene Mail',
  peoplesMail: 'persönliche Mail',
  retry: 'Noch einmal senden',
  again: 'Wird noch einmal gesendet.',
  ofAlert: 'Nachrichten dazu',
  toDo: 'Legen Sie fest, wer bei Problemen benachrichtigt wird: bisher niemand',
  dismiss: 'Nicht nötig',
  mail: 'Mail bei Meldungen',
  mailMe: 'Mir bei Meldungen eine Mail senden',
  mailFrom: 'Ab welchem Schweregrad',
  mailTo: (email) => `Geht an ${email}, zu allem, was Sie sehen dürfen.`,
  unreadable:
    'Es käme nie etwas: Mails informieren nur über das, was Sie sehen dürfen, und Sie dürfen nirgends Meldungen sehen. Wer den Zugang verwaltet, kann Ihnen eine Rolle und einen Ort geben.',
  undelivered:
    'Bisher wird nichts gesendet: Kein Kanal ist für persönliche Mails bestimmt. Wer die Einstellungen verwaltet, kann dort unter „Benachrichtigungen“ einen Mailkanal dafür bestimmen.',
}
