// What a client must do with the published vectors; runs in Node and in a browser.

const value = (given) => {
  if (given === null || typeof given !== "object") return given;
  if (given.moment) return new Date(`${given.moment}Z`);
  return given.whole ? BigInt(given.whole) : given.double === "infinity" ? Infinity : -Infinity;
};
const recordOf = (given) =>
  given && Object.fromEntries(Object.entries(given).map(([name, each]) => [name, value(each)]));

export async function check(prdp, vectors) {
  const wrong = [];
  let reports = 0;
  for (const { text, digest, columns, payload_bytes: size, reports: known } of vectors.campaigns) {
    const campaign = await prdp.Campaign.read(text);
    const same = prdp.hex(campaign.digest) === digest && campaign.payloadSize === size;
    if (!same || JSON.stringify(campaign.columns) !== JSON.stringify(columns)) wrong.push(`campaign ${campaign.name}`);
    for (const [place, { record, entropy, report, json }] of known.entries()) {
      const bytes = prdp.unhex(entropy);
      let at = 0;
      const given = (count) => {
        at += count;
        if (at > bytes.length) throw new Error("more random bytes were asked for than Python asks for");
        return bytes.slice(at - count, at);
      };
      try {
        const made = campaign.draw(recordOf(record), given);
        const right = prdp.hex(made.bytes()) === report && made.json(campaign) === json && at === bytes.length;
        if (!right) wrong.push(`${campaign.name}, report ${place}`);
        if (prdp.Report.ofBytes(prdp.unhex(report)).json(campaign) !== json) wrong.push(`${campaign.name}, reading ${place}`);
      } catch (error) {
        wrong.push(`${campaign.name}, report ${place}: ${error.message}`);
      }
      reports += 1;
    }
  }
  let refused = 0;
  for (const { text, why } of vectors.refused_campaigns) {
    try {
      await prdp.Campaign.read(text);
      wrong.push(`${why} was not refused`);
    } catch (error) {
      if (error instanceof prdp.InvalidRequest) refused += 1;
      else wrong.push(`${why}: ${error}`);
    }
  }
  return { reports, refused, wrong };
}
