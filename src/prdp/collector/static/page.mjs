// The page's own script: the try-it client, and how far the round is. All of it runs in the visitor's browser.
import { Campaign, Client, hex, send } from "./prdp-client.mjs";

const here = "";
const at = (name) => document.getElementById(name);
const say = (place, ...parts) => at(place).replaceChildren(...parts);

function paragraph(text, kind = "") {
  const made = document.createElement("p");
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

/** What was typed, as a record: numbers as numbers, nothing as null. */
function typedRecord() {
  const record = {};
  for (const input of document.querySelectorAll("[data-column]")) {
    const text = input.value.trim();
    const number = /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(text);
    const truth = { true: true, false: false }[text.toLowerCase()];
    record[input.dataset.column] = text === "" ? null : number ? Number(text) : truth ?? text;
  }
  return record;
}

let loaded = null;

/** The campaign that this page describes; what is called by its hash has that hash. */
async function campaignHere() {
  const digest = at("status").dataset.campaign;
  if (!loaded) {
    const answered = await fetch(`${here}/v1/campaigns/${digest}`);
    const found = await Campaign.read(await answered.text());
    if (hex(found.digest) !== digest) throw new Error("the collector sent other terms than this page has. Nothing was drawn.");
    loaded = found;
  }
  return loaded;
}

const number = (value) => Number(value.toPrecision(3)).toLocaleString("en");

function described(campaign, record) {
  const { loss, saysSomething } = campaign.check(record);
  if (loss === null) return "Your record has no valid budget: it is answered for as if there were nothing to say.";
  if (!saysSomething) return "Your record has nothing to say in this round: it is answered for as the dummy.";
  const odds = loss > 20 ? "more than a hundred million" : number(Math.exp(loss));
  return `Your record takes part and loses at most ${number(loss)} here: no report is more than ${odds} times as likely as without it.`;
}

async function draw(event) {
  event.preventDefault();
  try {
    const campaign = await campaignHere();
    const record = typedRecord();
    const report = campaign.draw(record);
    const outcomes = report.outcomes(campaign);
    const shown = outcomes.slice(0, 400).join(" ") + (outcomes.length > 400 ? " …" : "");
    say(
      "drawn",
      paragraph(described(campaign, record)),
      paragraph(`One report that could be sent, ${report.bytes().length} bytes. Draw again to see how much is chance:`),
      paragraph(shown, "bits"),
    );
  } catch (error) {
    say("drawn", paragraph(error.message));
  }
}

async function answer(event) {
  event.preventDefault();
  const ticket = at("ticket").value.trim().toLowerCase();
  try {
    const campaign = await campaignHere();
    // One account for one ticket: a browser may be shared, and each record has its own.
    const client = new Client({ storage: localStorage, name: `prdp account ${ticket}` });
    const report = await client.report(campaign, typedRecord());
    const { again } = await send(here, report, ticket);
    say("sent", paragraph(again ? "Your report had been counted before; it counts once." : "Your report is counted. Thank you."));
  } catch (error) {
    say("sent", paragraph(`Not sent: ${error.message}`));
  }
}

async function look() {
  const status = at("status");
  const answered = await fetch(`${here}/v1/study`).catch(() => null);
  if (!answered?.ok) return;
  const study = await answered.json();
  const last = study.rounds.at(-1);
  const moved = study.state !== status.dataset.state || String(last.number) !== status.dataset.round;
  at("news").hidden = !moved;
  if (moved || study.state !== "open") return;
  const of = study.closes_at_reports ? ` of ${study.closes_at_reports.toLocaleString("en")}` : "";
  status.textContent = `Round ${last.number} is open: ${last.reports.toLocaleString("en")}${of} reports.`;
  if (at("bar")) at("bar").value = last.reports;
}

at("try-it").hidden = false;
at("record").addEventListener("submit", draw);
at("send").addEventListener("submit", answer);
at("answer").hidden = at("status").dataset.state !== "open";
if (at("status").dataset.state !== "done") setInterval(look, 10_000);
