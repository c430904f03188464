/** Where the nodes of the dependency graph stand: dependencies left, what waits for them right. */
export interface GraphNode {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly priority: string;
  readonly derived: string;
}

/** `from` depends on `to`. */
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly state: string;
}

export interface Placed {
  readonly node: GraphNode;
  readonly col: number;
  readonly row: number;
}

export interface Picture {
  readonly placed: readonly Placed[];
  readonly edges: readonly GraphEdge[];
  readonly cols: number;
  readonly rows: number;
  readonly implied: number;
}

/** What is not in the folder but is waited for is a node too. */
export function withMissing(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): GraphNode[] {
  const known = new Set(nodes.map((n) => n.id));
  const extra = new Map<string, GraphNode>();
  for (const e of edges) {
    if (!known.has(e.to)) extra.set(e.to, { id: e.to, title: '', status: '', priority: '', derived: 'MISSING' });
  }
  return [...nodes, ...extra.values()];
}

/** The chosen node and what is at most so many steps away, in each direction for itself. */
export function around(edges: readonly GraphEdge[], focus: string, hops: number): Set<string> {
  const near = new Set([focus]);
  const go = (next: (id: string) => readonly string[]) => {
    let edge = [focus];
    for (let i = 0; i < hops; i++) {
      edge = edge.flatMap(next).filter((id) => !near.has(id) || id === focus);
      for (const id of edge) near.add(id);
    }
  };
  const [down, up] = [neighbours(edges, 'from', 'to'), neighbours(edges, 'to', 'from')];
  go((id) => down.get(id) ?? []);
  go((id) => up.get(id) ?? []);
  return near;
}

function neighbours(edges: readonly GraphEdge[], key: 'from' | 'to', value: 'from' | 'to'): Map<string, string[]> {
  const map = new Map<string, string[]>();
  for (const e of edges) {
    const list = map.get(e[key]);
    if (list) list.push(e[value]);
    else map.set(e[key], [e[value]]);
  }
  return map;
}

/** Rings: those that wait for each other, with the dependencies that close them. */
export function ringsOf(edges: readonly GraphEdge[]): GraphEdge[][] {
  const rings: { ids: Set<string>; edges: GraphEdge[] }[] = [];
  for (const e of edges.filter((x) => x.state === 'cycle')) {
    const [mine, others] = [rings.filter((r) => r.ids.has(e.from) || r.ids.has(e.to)), rings.filter((r) => !r.ids.has(e.from) && !r.ids.has(e.to))];
    const one = { ids: new Set([e.from, e.to, ...mine.flatMap((r) => [...r.ids])]), edges: [...mine.flatMap((r) => r.edges), e] };
    rings.splice(0, rings.length, ...others, one);
  }
  // The youngest dependency first: most likely it is the one too many.
  return rings.map((r) => r.edges.toSorted((a, b) => (a.from < b.from ? 1 : a.from > b.from ? -1 : a.to < b.to ? 1 : -1)));
}

/** What most wait for. */
export function mostWaited(edges: readonly GraphEdge[]): string | undefined {
  const by = new Map<string, number>();
  for (const e of edges) if (e.state !== 'done') by.set(e.to, (by.get(e.to) ?? 0) + 1);
  return [...by].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0]?.[0];
}

export function draw(nodes: readonly GraphNode[], all: readonly GraphEdge[]): Picture {
  const known = new Set(nodes.map((n) => n.id));
  const inside = all.filter((e) => known.has(e.from) && known.has(e.to));
  const edges = withoutImplied(inside);
  const linked = new Set(edges.flatMap((e) => [e.from, e.to]));
  const level = levels(nodes.filter((n) => linked.has(n.id)).map((n) => n.id), edges);
  const columns = arrange(nodes.filter((n) => linked.has(n.id)), level, edges);
  const placed: Placed[] = [];
  columns.forEach((col, c) => col.forEach((node, r) => placed.push({ node, col: c, row: r })));
  const rows = Math.max(0, ...columns.map((c) => c.length));
  const alone = nodes.filter((n) => !linked.has(n.id));
  const wide = Math.max(columns.length, Math.min(4, alone.length));
  alone.forEach((node, i) => placed.push({ node, col: i % wide, row: rows + Math.floor(i / wide) }));
  return { placed, edges, cols: wide, rows: rows + Math.ceil(alone.length / Math.max(1, wide)), implied: inside.length - edges.length };
}

/** An edge that a longer way says as well is hidden; in rings nothing is. */
function withoutImplied(edges: readonly GraphEdge[]): GraphEdge[] {
  const down = neighbours(edges, 'from', 'to');
  if (edges.length > 2_000) return [...edges];
  const reach = (start: string, skip: string): Set<string> => {
    const seen = new Set<string>();
    const todo = (down.get(start) ?? []).filter((id) => id !== skip);
    for (let id = todo.pop(); id !== undefined; id = todo.pop()) {
      if (seen.has(id)) continue;
      seen.add(id);
      todo.push(...(down.get(id) ?? []));
    }
    return seen;
  };
  return edges.filter((e) => {
    const far = reach(e.from, e.to);
    return !far.has(e.to) || far.has(e.from);
  });
}

/** The longest way to something that waits for nothing; an edge that closes a ring does not count. */
function levels(ids: readonly string[], edges: readonly GraphEdge[]): Map<string, number> {
  const down = neighbours(edges, 'from', 'to');
  const level = new Map<string, number>();
  const onWay = new Set<string>();
  for (const root of ids) {
    const stack: { id: string; next: number }[] = [{ id: root, next: 0 }];
    while (stack.length > 0) {
      const top = stack[stack.length - 1];
      if (top === undefined) break;
      const kids = down.get(top.id) ?? [];
      onWay.add(top.id);
      const kid = kids[top.next++];
      if (kid === undefined || level.has(top.id)) {
        if (!level.has(top.id)) level.set(top.id, Math.max(-1, ...kids.map((k) => level.get(k) ?? -1)) + 1);
        onWay.delete(top.id);
        stack.pop();
      } else if (!level.has(kid) && !onWay.has(kid)) stack.push({ id: kid, next: 0 });
    }
  }
  return level;
}

/** Columns whose cards stand near what they are joined to. */
function arrange(nodes: readonly GraphNode[], level: Map<string, number>, edges: readonly GraphEdge[]): GraphNode[][] {
  const columns: GraphNode[][] = [];
  for (const n of nodes) (columns[level.get(n.id) ?? 0] ??= []).push(n);
  for (let i = 0; i < columns.length; i++) columns[i] ??= [];
  const both = [neighbours(edges, 'from', 'to'), neighbours(edges, 'to', 'from')] as const;
  for (let sweep = 0; sweep < 6; sweep++) {
    const at = new Map<string, number>();
    columns.forEach((c) => c.forEach((n, r) => at.set(n.id, r - c.length / 2)));
    const near = both[sweep % 2] ?? both[0];
    for (const c of columns) {
      const middle = (n: GraphNode) => {
        const rows = (near.get(n.id) ?? []).map((id) => at.get(id) ?? 0);
        return rows.length === 0 ? (at.get(n.id) ?? 0) : rows.reduce((a, b) => a + b, 0) / rows.length;
      };
      const weight = new Map(c.map((n) => [n.id, middle(n)]));
      c.sort((a, b) => (weight.get(a.id) ?? 0) - (weight.get(b.id) ?? 0) || (a.id < b.id ? -1 : 1));
    }
  }
  return columns;
}
