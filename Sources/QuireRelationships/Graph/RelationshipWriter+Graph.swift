// Edges taken away by hand: found as the graph finds them.

internal import QuireDatabase

extension RelationshipWriter {
  func remove(_ edge: Edge, _ reason: EdgeReason) throws -> Bool {
    try checkOpen()
    guard let source = edge.source else { throw edge.invalid("does not say where it begins: give a source") }
    let graph = GraphHandle(trees: trees, writer: self)
    guard let number = try trees.number(of: edge.name), let row = try graph.known(source),
      let end = try graph.known(edge.destination)
    else { return false }
    var found = StoredEdge(name: number, source: row, destination: end, isDerived: false, rules: [])
    guard let rules = try trees.rules(of: found) else { return try dropHidden(found, reason) }
    found.rules = rules
    try trees.remove(found)
    try drop(found, reason)
    return true
  }
}
