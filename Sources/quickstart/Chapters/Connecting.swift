// Chapter: the graph of what depends on what.

import Quire

extension Chapter {
  /// Registers a relationship over the packages that are there, and walks along its edges in both directions.
  static let connecting = Chapter(
    title: "Connect: who needs whom, in both directions",
    code: """
      let graph = Relationship<Package>("packages.depends", over: .packages) { package in
        package.dependencies.flatMap(\\.names).map { Edge("depends", to: .packages, key: $0) }
      }
      try await db.register(graph)

      let edges = try tx.relationship(graph)
      let users = edges.count(named: "depends", to: .packages, name)
      for edge in edges.edges(named: "depends", to: .packages, next) {
        …
      }
      """
  ) { tour in
    let db = try tour.openDatabase()
    let clock = ContinuousClock()
    let start = clock.now

    let graph = Relationship<Package>("packages.depends", over: .packages) { package in
      package.dependencies.flatMap(\.names).map { Edge("depends", to: .packages, key: $0) }
    }
    try await db.register(graph)
    try lookAround(tour, db, graph, clock.now - start)
  }

  private static func lookAround(
    _ tour: Tour, _ db: Database, _ graph: Relationship<Package>, _ time: Duration
  ) throws {
    try db.read { tx in
      let edges = try tx.relationship(graph)
      tour.screen.done(
        "\(text(edges.count())) edges derived", text(time), "those to packages outside the index are left out")
      findMostWanted(tour, Array(tx[.packages].keys), edges)
    }
  }

  /// Counts for every package who needs it, and walks to all that need the first one, directly or not.
  private static func findMostWanted(_ tour: Tour, _ names: [String], _ edges: ReadableGraph) {
    var most = (name: "", users: 0)
    let (_, counting) = tour.timing {
      for name in names {
        let users = edges.count(named: "depends", to: .packages, name)
        if users > most.users { most = (name, users) }
      }
    }
    guard most.users > 0 else { return tour.screen.note("No package of this index needs another one.") }
    tour.screen.done(
      "\(most.name) is needed by \(text(most.users)) packages", "\(text(names.count)) counts in \(text(counting))")

    let (reached, walking) = tour.timing {
      var reached: Set = [most.name]
      var waiting = [most.name]
      while let next = waiting.popLast() {
        for edge in edges.edges(named: "depends", to: .packages, next) {
          guard let user = edge.source?.key, reached.insert(user).inserted else { continue }
          waiting.append(user)
        }
      }
      return reached
    }
    let needs = edges.edges(named: "depends", from: .packages, most.name).map { "\($0.destination)" }
    tour.screen.done("With all that need these, \(text(reached.count - 1))", text(walking))
    tour.screen.note("\(most.name) itself needs \(needs.isEmpty ? "nothing" : "\(text(needs.count)) of them")")
  }
}
