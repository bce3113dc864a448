// The verifying S3 server as a process of its own; tells its address as the controller does, and at last what it holds.
import { s3Server } from '../kit/s3.ts'

const server = await s3Server()
console.log(JSON.stringify({ url: server.endpoint }))
process.once('SIGTERM', async () => {
  console.log(JSON.stringify([...server.objects]))
  await server.close()
})
