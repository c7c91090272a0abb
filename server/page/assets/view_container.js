// One container: its properties and its contents.

import { h } from './dom.js';
import { get, getList, classesOf, Refusal } from './api.js';
import { digits, quantity, count, commitLink, classTag, kindTag, ownerLink, instanceLink, time, facts, table, empty, colour } from './format.js';
import { gridPanel } from './grid.js';
import { commands } from './commands.js';
import { atOf, containerTabs, pastBar } from './past.js';

const step = 1000; // stacks or placements shown at first, and added by each click
const slotPage = 512;

export const container = {
  pattern: /^container\/([^/]+)$/,
  section: 'containers',
  title: ([id]) => `Container ${id}`,
  async load(ctx) {
    const id = ctx.params[0], path = `/v1/read/container/${encodeURIComponent(id)}`;
    const past = atOf(ctx.query.at, 'at_');
    let answer;
    try {
      answer = await get(path, past, ctx.signal);
    } catch (e) {
      if (!past || !(e instanceof Refusal) || e.status === 401 || e.status === 403) throw e;
      return [...head(id, h('span', { class: 'number' }, id), ctx), empty('Not at that time.', e.message)];
    }
    const { data, as_of: asOf } = answer;
    // What it holds changes only when updated_seq does.
    const shown = ctx.store.shown ?? step;
    const stamp = `${data.created_seq}/${data.updated_seq}/${shown}`;
    if (ctx.store.stamp !== stamp) ctx.store.contents = await contents[data.kind](path, past, shown, ctx.signal);
    ctx.store.stamp = stamp;
    return [
      ...head(id, [h('span', { class: 'number' }, data.name ?? String(data.container_id)), ' ', kindTag(data.kind)], ctx, data, asOf),
      facts(
        data.name && ['Id', digits(data.container_id)],
        ['Owner', ownerLink(data.owner)],
        ['Created', 'commit ', commitLink(data.created_seq)],
        ['Last changed', 'commit ', commitLink(data.updated_seq)],
        ['Holds', data.kind === 'Slots' ? null : count(data.stacks, 'stack'), data.kind === 'Grid' ? ', ' : null,
          data.kind === 'Standard' ? null : count(data.instances, 'instance')],
        data.kind === 'Slots' && ['Slots', digits(data.slot_count)],
        data.kind === 'Grid' && ['Cells', `${data.grid_width} × ${data.grid_height}`]),
      draw[data.kind](data, ctx.store.contents, ctx),
      commands([path, past], [`${path}/${{ Slots: 'slots', Grid: 'grid', Standard: 'balances' }[data.kind]}`, past]),
    ];
  },
};

const head = (id, name, ctx, data, asOf) => [
  h('p', { class: 'crumbs' }, h('a', { href: '#/containers' }, 'Containers')),
  h('h1', { tabindex: -1 }, 'Container ', name),
  containerTabs(id, 'now'),
  pastBar(id, ctx, data, asOf),
];

const contents = {
  Standard: balances,
  async Grid(path, past, shown, signal) {
    const [stacks, grid] = await Promise.all([balances(path, past, shown, signal),
      getList(`${path}/grid`, { ...past, limit: step }, (a) => a.data.placements, shown, signal)]);
    for (const [id, c] of await classesOf(grid.all.map((p) => p.class_id))) stacks.classes.set(id, c);
    return { ...stacks, placements: grid.all, morePlacements: grid.more };
  },
  async Slots(path, past, shown, signal) {
    const { all } = await getList(`${path}/slots`, { ...past, limit: 10_000 }, (a) => a.data.slots, Infinity, signal);
    return { slots: new Map(all.map((s) => [s.slot_index, s])), classes: await classesOf(all.map((s) => s.class_id)) };
  },
};

async function balances(path, past, shown, signal) {
  const { all, more } = await getList(`${path}/balances`, { ...past, limit: step }, (a) => a.balances, shown, signal);
  const holds = all.some((b) => b.held) ? await getList(`${path}/holds`, { ...past, limit: step }, (a) => a.data.holds, shown, signal) : { all: [] };
  return { balances: all, more, holds: holds.all, moreHolds: holds.more, classes: await classesOf(all.map((b) => b.class_id)) };
}

const draw = {
  Standard: (data, held, ctx) => balanceSection(data, held, ctx),
  Grid: (data, held, ctx) => [gridPanel(data, held), moreButton(held.morePlacements, 'placements', ctx), balanceSection(data, held, ctx)],
  Slots: slotSection,
};

const moreButton = (more, what, ctx) => (more ? h('p', { class: 'more' }, h('button', {
  onclick() {
    ctx.store.shown = (ctx.store.shown ?? step) + step;
    ctx.refresh();
  },
}, `Show ${step} more ${what}`)) : null);

function balanceSection(data, held, ctx) {
  const minor = held.balances.some((b) => held.classes.get(String(b.class_id))?.decimals);
  const isHeld = held.balances.some((b) => b.held);
  return [h('section', { 'aria-labelledby': 'balances' },
    h('h2', { id: 'balances' }, 'Balances'),
    held.balances.length === 0
      ? empty(data.kind === 'Grid' ? 'No stacks are in this container.' : 'This container is empty.')
      : table(`Balances of container ${data.container_id}`, [['Class'], ['Key', 'num'], ['Quantity', 'num'], ...(isHeld ? [['Held', 'num']] : []), ...(minor ? [['Minor units', 'num dim']] : [])],
        held.balances.map((b) => {
          const cls = held.classes.get(String(b.class_id));
          return [classTag(b.class_id, cls), digits(b.key), quantity(b.quantity, cls), ...(isHeld ? [b.held ? quantity(b.held, cls) : ''] : []), ...(minor ? [digits(b.quantity)] : [])];
        })),
    moreButton(held.more, 'stacks', ctx)), isHeld ? holdSection(data, held, ctx) : null];
}

const holdSection = (data, held, ctx) => h('section', { 'aria-labelledby': 'holds' },
  h('h2', { id: 'holds' }, 'Holds'),
  table(`Holds of container ${data.container_id}`, [['Hold', 'num'], ['Class'], ['Key', 'num'], ['Quantity', 'num'], ['Made by commit', 'num'], ['Expires']],
    held.holds.map((x) => {
      const cls = held.classes.get(String(x.class_id));
      return [digits(x.hold_id), classTag(x.class_id, cls), digits(x.key), quantity(x.quantity, cls), commitLink(x.held_seq), x.expires_at ? time(x.expires_at) : 'never'];
    })),
  moreButton(held.moreHolds, 'holds', ctx));

function slotSection(data, held, ctx) {
  const total = data.slot_count;
  const from = Math.min(Math.max(0, Number(ctx.query.from) || 0), Math.floor((total - 1) / slotPage) * slotPage);
  const to = Math.min(total, from + slotPage);
  const boxes = [];
  for (let i = from; i < to; i++) {
    const slot = held.slots.get(i);
    const cls = slot && held.classes.get(String(slot.class_id));
    boxes.push(h('li', { class: slot ? `slot full ${colour(slot.class_id)}` : 'slot', 'data-slot': i },
      h('span', { class: 'index' }, String(i)),
      slot ? [instanceLink(slot.instance_id),
        h('a', { class: 'what', href: `#/class/${slot.class_id}` }, cls?.name ?? `class ${slot.class_id}`),
        h('span', { class: 'key' }, 'key ', String(slot.key))] : h('span', { class: 'what' }, 'empty')));
  }
  const page = (at, text) => h('a', { href: `#/container/${data.container_id}?${new URLSearchParams({ ...ctx.query, from: at })}` }, text);
  return h('section', { 'aria-labelledby': 'slots' },
    h('h2', { id: 'slots' }, 'Slots ', h('span', { class: 'aside' }, `${held.slots.size} of ${total} filled`)),
    h('ol', { class: 'slots', 'aria-label': `Slots ${from} to ${to - 1}` }, boxes),
    total > slotPage ? h('nav', { class: 'pager', 'aria-label': 'Pages of slots' },
      from > 0 ? page(from - slotPage, 'Earlier slots') : null, h('span', null, `${from} to ${to - 1}`), to < total ? page(to, 'Later slots') : null) : null);
}
