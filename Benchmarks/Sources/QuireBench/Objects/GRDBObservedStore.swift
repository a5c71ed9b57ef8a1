// Values that somebody observes in GRDB.

#if PEER_GRDB
  internal import Foundation
  internal import GRDB

  /// Observations of GRDB, each of one row, with callbacks on a queue in the background.
  final class GRDBObservedStore: ObservedStore {
    static var name: String { "grdb" }
    private let pool: DatabasePool
    private var observations: [AnyDatabaseCancellable] = []
    private let queue = DispatchQueue(label: "callbacks")

    private struct ValueRecord: Codable, FetchableRecord, PersistableRecord {
      static let databaseTableName = "counters"
      var id: Int
      var number: Int
    }

    init(_ folder: String, count: Int) throws {
      pool = try DatabasePool(path: "\(folder)/values.sqlite")
      try pool.write { database in
        try database.create(table: "counters") { table in
          table.primaryKey("id", .integer)
          table.column("number", .integer).notNull()
        }
        for index in 0..<count { try ValueRecord(id: index, number: 0).insert(database) }
      }
    }

    func observe(_ index: Int, _ body: @escaping @Sendable (Int) -> Void) {
      let observation = ValueObservation.tracking { try ValueRecord.fetchOne($0, key: index)?.number ?? -1 }
      let observed = observation.start(
        in: pool, scheduling: .async(onQueue: queue), onError: { _ in body(-2) }, onChange: body)
      observations.append(observed)
    }

    func set(_ index: Int, _ value: Int) throws {
      try pool.write { try ValueRecord(id: index, number: value).update($0) }
    }

    func stop() {
      for observation in observations { observation.cancel() }
      observations = []
    }

    func close() throws { try pool.close() }
  }
#endif
