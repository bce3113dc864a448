// Sentences of the controller about deliveries with names and numbers in them, in German (test/console/notifications.test.ts).
import type { Words } from '../en.ts'

type Shaped = Words['refusals']['shaped']

const RECEIVERS: Shaped = [
  [/^(.+) answered 410: it wants/, (host) => `${host} antwortete 410: Dort will man keine Nachrichten mehr`],
  [
    /^(.+) answered (\d+), a redirect(?: to (\S+))?, which/,
    (host, status, aim) =>
      `${host} antwortete ${status}, eine Weiterleitung${aim ? ` zu ${aim}` : ''}, der nicht gefolgt wird: Geben Sie die endgültige Adresse ein`,
  ],
  [
    /^(.+) answered (\d+): it cannot/,
    (host, status) => `${host} antwortete ${status}: Es kann gerade keine Nachrichten annehmen`,
  ],
  [
    /^(.+) answered (\d+): check/,
    (host, status) => `${host} antwortete ${status}: Prüfen Sie Adresse und Geheimnis des Kanals`,
  ],
  [
    /^(.+) is at (.+), which is no public/,
    (host, address) =>
      `${host} hat die Adresse ${address}, die nicht öffentlich ist: Nennen Sie einen Empfänger im Internet, oder setzen Sie SVC_WEBHOOK_ALLOW_PRIVATE=1 auf der Zentrale`,
  ],
  [
    /^(.+) is this controller itself/,
    (host) => `${host} ist diese Zentrale selbst: Nennen Sie die Adresse des Empfängers`,
  ],
  [/^(.+) could not be asked/, (host) => `${host} ließ sich nicht fragen: Prüfen Sie Adresse und Geheimnis`],
  [/^the attempt was cancelled before (.+) answered/, (host) => `Abgebrochen, bevor ${host} geantwortet hatte`],
  [
    /^the receiver did not answer within (.+) s/,
    (seconds) => `Der Empfänger antwortete nicht innerhalb von ${seconds} s`,
  ],
  [
    /^(.+): no whole answer within (.+) s/,
    (host, seconds) => `${host} antwortete nicht ganz innerhalb von ${seconds} s`,
  ],
]

const NETWORK: Shaped = [
  [
    /^nothing listens at (.+?): check/,
    (at) => `Bei ${at} nimmt niemand Verbindungen an: Prüfen Sie, ob der Dienst läuft und der Port stimmt`,
  ],
  [
    /^(.+) did not answer in time: check/,
    (at) => `${at} antwortete nicht rechtzeitig: Prüfen Sie Adresse und Port, und ob eine Firewall dazwischen ist`,
  ],
  [/^(.+) cannot be reached: check/, (at) => `${at} ist nicht erreichbar: Prüfen Sie das Netz der Zentrale`],
  [
    /^(.+) closed the connection/,
    (at) => `${at} hat die Verbindung beendet: Versuchen Sie es noch einmal, und sehen Sie dort ins Log`,
  ],
  [/^the name (.+) is not known/, (at) => `Den Namen ${at} gibt es nicht: Prüfen Sie, wie er geschrieben ist`],
  [/^the name (.+) could not be resolved/, (at) => `Kein Nameserver kennt ${at}: Prüfen Sie das Netz der Zentrale`],
  [
    /^no authority this controller trusts has signed the certificate of (.+?): name/,
    (at) =>
      `Dem Zertifikat von ${at} traut die Zentrale nicht: Nennen Sie in SVC_TRUSTED_CA_FILE die Datei seiner Zertifizierungsstelle`,
  ],
  [
    /^the certificate of (.+) is not valid at this time/,
    (at) => `Das Zertifikat von ${at} gilt jetzt nicht: Erneuern Sie es dort, und prüfen Sie die Uhr der Zentrale`,
  ],
  [
    /^the certificate of (.+) is for another name/,
    (at) => `Das Zertifikat von ${at} gilt für einen anderen Namen: Geben Sie einen ein, der darin steht`,
  ],
  [
    /^(.+) does not speak TLS as expected/,
    (at) => `${at} spricht nicht TLS wie erwartet: Prüfen Sie den Port, und ob TLS dort an ist`,
  ],
]

const MAIL: Shaped = [
  [
    /^the mail server (.+?) refused the login(.*): check/,
    (at, said) =>
      `Der Mailserver ${at} ließ die Anmeldung nicht zu${said}: Prüfen Sie Benutzer und Passwort des Kanals`,
  ],
  [
    /^the mail server (.+?) offers no TLS that works, and nothing is sent without it(.*): check/,
    (at, said) =>
      `Der Mailserver ${at} bietet kein TLS, das geht, und ohne wird nichts gesendet${said}: Prüfen Sie Port und Verschlüsselung des Kanals`,
  ],
  [
    /^the mail server (.+?) did not greet in time/,
    (at) => `Der Mailserver ${at} meldete sich nicht rechtzeitig: Prüfen Sie Port und Verschlüsselung des Kanals`,
  ],
  [
    /^the mail server (.+?) did not agree on TLS in time/,
    (at) => `Mit dem Mailserver ${at} kam TLS nicht rechtzeitig zustande: Prüfen Sie sein Zertifikat und sein Log`,
  ],
  [/^the mail server (.+?) fell silent/, (at) => `Der Mailserver ${at} verstummte: Sehen Sie in sein Log`],
  [
    /^the mail server (.+?) refused all recipients: (.+)/,
    (at, whom) => `Der Mailserver ${at} lehnte alle Empfänger ab: ${whom}`,
  ],
  [
    /^sent, but the mail server (.+?) refused (.+): check/,
    (at, whom) => `Gesendet, aber der Mailserver ${at} lehnte ab: ${whom}. Prüfen Sie diese Adressen`,
  ],
  [
    /^the mail server (.+?) refused the sender(.*): check/,
    (at, said) => `Der Mailserver ${at} lehnte den Absender ab${said}: Prüfen Sie dessen Adresse und den Benutzer`,
  ],
  [
    /^the mail server (.+?) did not take the message within (.+) s/,
    (at, seconds) =>
      `Der Mailserver ${at} nahm die Nachricht nicht innerhalb von ${seconds} s an: Sehen Sie in sein Log`,
  ],
  [
    /^the mail server (.+?) did not take the message(.*)/,
    (at, said) => `Der Mailserver ${at} nahm die Nachricht nicht an${said}`,
  ],
  [
    /^the mail server (.+?) broke off(.*): check/,
    (at, said) =>
      `Der Mailserver ${at} brach ab${said}: Prüfen Sie Adresse, Port und Verschlüsselung des Kanals, und sein Log`,
  ],
  [
    /^the attempt was ended before the mail server (.+) had taken/,
    (at) => `Abgebrochen, bevor der Mailserver ${at} die Nachricht angenommen hatte`,
  ],
]

const CHANNELS: Shaped = [
  [
    /^the channel has the user name (.+) but no password/,
    (user) => `Der Kanal hat den Benutzer ${user}, aber kein Passwort: Geben Sie es ein`,
  ],
  [
    /^the signing key has to be whsec_ and (\d+) to (\d+) bytes/,
    (least, most) => `Nötig ist ein Signaturschlüssel: whsec_ und ${least} bis ${most} zufällige Bytes in Base64.`,
  ],
  [
    /^(.+) changed: enter the secret again$/,
    () => 'Der Server hat sich geändert: Geben Sie das Geheimnis noch einmal ein.',
  ],
]

const meant = (near: string | undefined): string => (near ? ` Meinten Sie ${near}?` : '')

const RULES: Shaped = [
  [
    /^no alert has the type (\S+?)(?:: did you mean (.+)\?)?$/,
    (type, near) => `Keine Meldung hat die Art ${type}.${meant(near)}`,
  ],
  [
    /^no alert has a type like (\S+?)(?:: did you mean (.+)\?)?$/,
    (pattern, near) => `Keine Meldung hat eine Art wie ${pattern}.${meant(near)}`,
  ],
  [
    /^no room and no recorder is at the site (.+?)(?:: did you mean (.+)\?)?$/,
    (site, near) => `Kein Raum und kein Rekorder ist am Standort ${site}.${meant(near)}`,
  ],
]

/** The more special of two shapes stands before the other. */
export const shaped: Shaped = [...CHANNELS, ...RULES, ...MAIL, ...RECEIVERS, ...NETWORK]
