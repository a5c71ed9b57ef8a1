// quiredb plan: how a query would be answered.

import ArgumentParser
import QuireDatabase
import QuireIndexes

/// Shows the plan of a query.
struct Plan: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows how a query would be answered, by counting entries and keys. Changes nothing, and reads no row.",
    discussion: """
      A query is a condition on fields, and an order, a limit and an offset if wanted:

        artist = 'Miles' AND (year >= 1990 OR rating IS NULL) ORDER BY year DESC LIMIT 20

      Fields are compared by =, !=, <, <=, >, >=, IN (…), BETWEEN … AND …, LIKE 'beginning%', IS NULL and IS NOT \
      NULL; comparisons are put together by AND, OR, NOT and brackets. A field goes by its name, with “metadata.” in \
      front of one of the metadata, by the name of an index that has it alone, or by that of an index and the number \
      of the column: year-rating.2. A name with other characters stands in double quotes. KEY is the row’s key, a \
      text, and gives an order by itself; a field of that name is "key", in double quotes. Texts, times ('1959-08-17') \
      and UUIDs stand in single quotes.
      """)

  @OptionGroup var database: LiveArgument
  @Argument(help: "The name of the collection.") var collection: String
  @Argument(help: "The query.") var query: String

  func run() throws {
    do {
      try reading(database) { tx in try show(try StoredPlanner(collection, in: tx)) }
    } catch let error as IndexError {
      try fail(error.description)
    } catch let error as StoredConditionError {
      try fail(error.description)
    } catch let error as QueryTextError {
      try fail(error.description)
    }
  }

  private func fail(_ text: String) throws {
    complain(text)
    throw ExitCode.failure
  }

  private func show(_ planner: StoredPlanner) throws {
    let query = try QueryReader(query, planner)
    let plan = try planner.plan(query.condition, order: query.order, limit: query.limit, offset: query.offset)
    print("plan     \(plan)")
    let reads = plan.readCount == 0 ? "nothing" : "at most \(plan.readCount) entries and rows"
    print("reads    \(reads), of \(planner.rowCount) rows")
    for count in try planner.counts(query.condition) {
      print("counted  \(count.entryCount) entries of “\(count.index)” for \(count.columns.joined(separator: ", "))")
    }
    for note in notes(planner, query, scans: plan.readsAllRows) { print("note     \(note)") }
  }

  /// What makes the plan other than it looks.
  private func notes(_ planner: StoredPlanner, _ query: QueryReader, scans: Bool) -> [String] {
    var notes: [String] = []
    func add(_ note: String) { if !notes.contains(note) { notes.append(note) } }
    switch planner.indexes?.status.state {
    case nil: add("no indexes of the collection are stored")
    case .stale?: add("the indexes are out of date, and not used until they are registered and built anew")
    case .building?: add("indexes are being built: those that are not ready are not used")
    case .ready?: break
    }
    for (name, column) in query.columns {
      if !column.isStored { add("no index has “\(name)”: tests every row\(scans ? "" : " that the rest leaves")") }
      for index in planner.partialIndexes(over: column) {
        add("“\(index)” holds some of the rows, and the file does not say which: it is left out here")
      }
    }
    return notes
  }
}
