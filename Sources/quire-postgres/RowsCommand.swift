// quire-postgres rows: what a file has, byte for byte, for comparisons that know nothing of the feeder.

#if Postgres
  import ArgumentParser
  internal import QuireDatabase

  /// Lists every row with its stored bytes.
  struct RowsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "rows",
      abstract: "Lists the rows of a database with their stored bytes.",
      discussion: """
        Each line has the collection and the key as JSON, the object's bytes in hexadecimal, and the object as JSON, \
        with tabs in between. The file is opened read-only.
        """)

    @Argument(help: "The database.", completion: .file())
    var file: String

    func run() throws {
      let database = try Database(at: file, options: .init(createsIfMissing: false, isReadOnly: true))
      try database.read { tx in
        for collection in tx.collections {
          for (row, values) in zip(tx.rawRows(collection), tx.values(in: collection)) {
            let names = [collection, row.key].map { RowValue.text($0).json }
            print(names[0], names[1], Self.hex(row.object), values.object.value?.json ?? "null", separator: "\t")
          }
        }
      }
      try database.close()
    }

    private static func hex(_ bytes: [UInt8]) -> String {
      let digits = Array("0123456789abcdef".utf8)
      return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
  }
#endif
