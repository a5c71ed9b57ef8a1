// The guide maps every call, and every call names the new one.

import Foundation
import Testing

@Suite struct GuideTests {
  /// Members that other protocols give their meaning, and wrapped bits.
  private static let passedOver: Set<String> = [
    "rawValue", "init(rawValue:)", "description", "encode(to:)", "init(from:)",
  ]
  /// Types whose members are parts of a message, and no calls.
  private static let plainTypes: Set<String> = ["YDBLogMessage", "DatabaseError.Code"]

  private static var repository: URL {
    (0..<3).reduce(URL(fileURLWithPath: #filePath)) { place, _ in place.deletingLastPathComponent() }
  }

  private static func members() throws -> [PublicMember] {
    let folder = repository.appendingPathComponent("Sources/YapCompat")
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
    return try names.sorted().flatMap { name in
      PublicMemberReader(try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)).members
    }.filter { !passedOver.contains($0.selector) && !plainTypes.contains($0.owner) }
  }

  private static func guide() throws -> String {
    let file = repository.appendingPathComponent("Sources/Quire/Quire.docc/ComingFromYapDatabase.md")
    return try String(contentsOf: file, encoding: .utf8)
  }

  @Test("Every public member stands in the guide, with its labels") func theGuideIsComplete() throws {
    let (members, guide) = (try Self.members(), try Self.guide())
    #expect(members.count > 300)
    for member in members {
      #expect(guide.contains("| `\(member.selector)` |"), "the guide does not map \(member.owner).\(member.selector)")
    }
  }

  @Test("Every call says what takes its place") func commentsNameTheNewCall() throws {
    let core: Set<String> = [
      "YapDatabase", "YapDatabaseConnection", "YapDatabaseReadTransaction", "YapDatabaseReadWriteTransaction",
    ]
    for member in try Self.members() where member.isCallable || core.contains(member.owner) {
      // What a protocol's extension does by default is explained at the requirement.
      if member.owner == "YapDatabaseRelationshipNode" { continue }
      let hasNewCall = member.comment.contains("New call:") || member.comment.contains("New type:")
      #expect(hasNewCall, "\(member.owner).\(member.selector) does not name the new call")
    }
  }

  @Test("The guide maps nothing that is not there") func theGuideIsTrue() throws {
    let selectors = Set(try Self.members().map(\.selector))
    let rows = try Self.guide().split(separator: "\n").filter { $0.hasPrefix("| ") && $0.contains("` | ") }
    for row in rows {
      let columns = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard columns.count == 3, columns[1].hasPrefix("`"), columns[1].hasSuffix("`") else { continue }
      let selector = String(columns[1].dropFirst().dropLast())
      let isRequirement = selector.hasPrefix("yapDatabaseRelationship")
      #expect(selectors.contains(selector) || isRequirement, "the guide maps \(selector), which is not there")
    }
  }

  @Test("Declarations are read with their labels") func declarationsAreRead() {
    let text = """
      /// A class.
      public final class Sample {
        /// Does it. New call: `other`.
        @discardableResult
        public func run<Result>(
          _ block: (_ key: String, _ stop: inout Bool) throws -> Result, filter: ((String) -> Bool)? = nil
        ) -> Result {
        /// A value.
        public static let option = 1
        /// A value.
        public private(set) var count = 0
        public init() {}
        func hidden() {}
      """
    let members = PublicMemberReader(text).members
    #expect(members.map(\.selector) == ["run(_:filter:)", "count", "init()"])
    #expect(members.first?.owner == "Sample" && members.first?.comment == "Does it. New call: `other`.")
  }
}
