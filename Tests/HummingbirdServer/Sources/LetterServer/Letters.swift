// The model of the guide “Recipes”: letters in boxes.

import Foundation
import Quire

struct Letter: Codable, Sendable, Equatable {
  var box: String
  var subject: String
  var date: Date
  var isRead = false
  var deletionDate: Date?
}

extension RowCollection where Object == Letter, Metadata == NoMetadata {
  static var letters: Self { .init("letters") }
}

enum MailViews {
  static let boxes = AutoView<Letter, NoMetadata>(
    "letters.boxes", over: .letters, version: "1",
    group: { letter in letter.deletionDate == nil ? letter.box : nil }, sortKey: { Descending($0.date) })

  static let unread = FilteredView("letters.unread", of: boxes, version: "1", filter: .byObject { !$0.isRead })
}
