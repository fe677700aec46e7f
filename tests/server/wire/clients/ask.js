const { Client } = require(process.argv[6] + '/pg')
const fs = require('fs')
async function main () {
  const [port, user, password, root] = process.argv.slice(2, 6)
  const client = new Client({
    host: 'localhost', port: Number(port), user, password, database: 'prdp',
    ssl: { ca: fs.readFileSync(root) }, enableChannelBinding: true
  })
  client.on('notice', notice => console.log('notice|' + notice.message))
  await client.connect()
  await client.query('SET prdp.share = 0.01')
  const text = 'SELECT ward, COUNT(*) AS n FROM visits WHERE days > $1 AND ward = $2 GROUP BY ward ORDER BY ward'
  for (let time = 0; time < 2; time++) {
    const found = await client.query({ name: 'asked', text, values: [40, 'a'] })
    console.log('answer|' + JSON.stringify(found.rows))
    console.log('types|' + found.fields.map(field => field.dataTypeID).join(' '))
  }
  try {
    await client.query('SELECT COUNT(*) FROM visits WHERE dayz > $1', [3])
  } catch (error) {
    console.log(`refused|${error.code}|${error.message}|${error.hint}|${error.position}`)
  }
  await client.query('BEGIN')
  await client.query('SELECT COUNT(*) AS n FROM visits WHERE days < 3')
  await client.query('ROLLBACK')
  await client.end()
}
main().catch(error => { console.error(error); process.exit(1) })
