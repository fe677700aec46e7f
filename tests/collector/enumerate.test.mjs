// Run the client on every two-byte string: node enumerate.test.mjs CLIENT < {text, records}. Two coins are tossed.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const prdp = await import(pathToFileURL(process.argv[2]));
const { text, records } = JSON.parse(readFileSync(0, "utf8"));
const campaign = await prdp.Campaign.read(text);

class Undecided extends Error {}

const found = records.map((record) => {
  const decided = { "00": 0, "01": 0, "10": 0, "11": 0 };
  let undecided = 0;
  const laws = campaign.laws(record); // a coin remembers its bytes, so that 65,536 draws are quick
  for (let word = 0; word < 1 << 16; word += 1) {
    const bytes = [word >> 8, word & 0xff];
    const entropy = () => {
      if (!bytes.length) throw new Undecided();
      return [bytes.shift()];
    };
    try {
      decided[laws.map((law) => law.draw(entropy)).join("")] += 1;
    } catch (error) {
      if (!(error instanceof Undecided)) throw error;
      undecided += 1;
    }
  }
  return { decided, undecided };
});
console.log(JSON.stringify(found));
