import assert from 'node:assert/strict'
import { test } from 'node:test'
import { labelsOf } from '../../../src/controller/schedules/templates.rules.ts'
import { zone } from '../../../src/kernel/zones.ts'

const subject = {
  startAt: Date.parse('2026-03-01T23:30:00.000Z'),
  node: { alias: 'Desk/1', hostname: 'desk.local', id: 'n1', location: { site: 'North', room: 'x' } },
  room: 'Großer Saal',
  schedule: { id: 's1', name: 'Mass: "early"?' },
  zone: zone('Europe/Berlin'),
}
const labels = (titleTemplate: string, folderTemplate = 'F') => labelsOf({ folderTemplate, titleTemplate }, subject)
const title = (template: string) => labels(template).name
const folder = (template: string) => labels('T', template).folder

test('templates speak of the date and time in the zone of the schedule, of node, room, site and schedule', () => {
  assert.equal(title('{{date}} {{time}}'), '2026-03-02 0030')
  assert.equal(title('{{timestamp}}'), '2026-03-01T23-30-00.000Z')
  assert.equal(title('{{ node.alias }},{{node.hostname}},{{node.id}}'), 'Desk-1,desk.local,n1')
  assert.equal(folder('{{site}}/{{room}}/{{schedule.id}}'), 'North/Großer Saal/s1')
})

test('what is unknown is empty; what is left empty has a name', () => {
  assert.equal(title('{{nothing}}{{constructor}}'), 'Scheduled Recording')
  assert.equal(folder(' / {{nothing}} \\ '), 'Scheduled')
})

test('names are safe: no reserved characters, no climbing, white space in one piece, 240 at most', () => {
  assert.equal(title('{{schedule.name}}  a\tb\n<c>|*'), 'Mass- -early-- a b -c---')
  assert.equal(title('a/b\\c'), 'a-b-c')
  assert.equal(folder('../{{node.alias}}/./x\\..\\y'), 'Desk-1/x/y')
  assert.equal(title('x'.repeat(500)).length, 240)
})
