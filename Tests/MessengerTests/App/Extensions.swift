// The views and relationships of the messenger, as it registers them at each start.

import Foundation
import YapCompat

/// The names that the extensions are registered under.
enum Extensions {
  static let graph = "graph"
  static let inbox = "inbox"
  static let messages = "messages"
  static let unread = "unread"
  static let contacts = "contacts by name"
}

/// How the inbox is sorted.
enum InboxOrder: String, Sendable {
  case latest
  case title

  /// Latest message first, threads without any last; or by title.
  var sorting: YapDatabaseViewSorting {
    switch self {
    case .latest:
      .withObjectBlock { _, _, _, key1, object1, _, key2, object2 in
        let dates = [object1, object2].map { ($0 as? ChatThread)?.lastMessageDate ?? .distantPast }
        return dates[0] == dates[1] ? key1.compare(key2, options: .literal) : dates[1].compare(dates[0])
      }
    case .title:
      .withObjectBlock { _, _, _, key1, object1, _, key2, object2 in
        let titles = [object1, object2].map { ($0 as? ChatThread)?.title ?? "" }
        return (titles[0] + "/" + key1).compare(titles[1] + "/" + key2, options: .literal)
      }
    }
  }
}

/// Which messages count as unread.
enum UnreadRule: String, Sendable {
  case all
  case ofOthers

  static let me = "me"

  func counts(_ message: Message, _ state: MessageState?) -> Bool {
    state?.isRead != true && (self == .all || message.authorID != Self.me)
  }

  var filtering: YapDatabaseViewFiltering {
    .withRowBlock { _, _, _, _, object, metadata in
      (object as? Message).map { counts($0, metadata as? MessageState) } ?? false
    }
  }
}

enum Views {
  private static func options(_ collections: YapWhitelistBlacklist<String>) -> YapDatabaseViewOptions {
    let options = YapDatabaseViewOptions()
    options.allowedCollections = collections
    return options
  }

  /// Two groups of threads.
  static let inboxGrouping = YapDatabaseViewGrouping.withObjectBlock { _, _, _, object in
    (object as? ChatThread).map { $0.isPinned ? "pinned" : "others" }
  }

  static func inbox(_ order: InboxOrder) -> YapDatabaseAutoView {
    YapDatabaseAutoView(
      grouping: inboxGrouping, sorting: order.sorting, versionTag: order.rawValue,
      options: options(YapWhitelistBlacklist(whitelist: [Collections.threads])))
  }

  /// The messages of each thread, oldest first; in the second release, by when they were changed last.
  static func messages(_ release: Release) -> YapDatabaseAutoView {
    YapDatabaseAutoView(
      grouping: .withObjectBlock { _, _, _, object in
        (object as? Message)?.threadID ?? (object as? LaterMessage)?.threadID
      },
      sorting: .withObjectBlock { _, _, _, key1, object1, _, key2, object2 in
        let dates = [object1, object2].map {
          ($0 as? Message)?.date ?? ($0 as? LaterMessage).map { $0.editDate ?? $0.date } ?? .distantPast
        }
        return dates[0] == dates[1] ? key1.compare(key2, options: .literal) : dates[0].compare(dates[1])
      },
      versionTag: release.rawValue,
      options: options(
        YapWhitelistBlacklist(blacklist: [Collections.threads, Collections.contacts, Collections.attachments])))
  }

  static func unread(_ rule: UnreadRule) -> YapDatabaseFilteredView {
    YapDatabaseFilteredView(
      parentViewName: Extensions.messages, filtering: rule.filtering, versionTag: rule.rawValue)
  }

  /// The contacts by the first letter of their names.
  static func contacts() -> YapDatabaseAutoView {
    YapDatabaseAutoView(
      grouping: .withObjectBlock { _, _, _, object in (object as? Contact)?.name.first.map { String($0) } },
      sorting: .withObjectBlock { _, _, _, _, object1, _, _, object2 in
        ((object1 as? Contact)?.name ?? "").compare((object2 as? Contact)?.name ?? "", options: .literal)
      },
      versionTag: "1", options: options(YapWhitelistBlacklist(whitelist: [Collections.contacts])))
  }
}
