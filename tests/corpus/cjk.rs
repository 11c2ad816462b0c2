//! Invented Chinese, Japanese and Korean sentences from short word lists.

use super::rng::Rng;

/// The language of a session whose user does not write English.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Script {
    Chinese,
    Japanese,
    Korean,
}

struct Lists {
    nouns: &'static [&'static str],
    verbs: &'static [&'static str],
    starts: &'static [&'static str],
    links: &'static [&'static str],
    ends: &'static [&'static str],
}

const CHINESE: Lists = Lists {
    nouns: &[
        "文件",
        "配置",
        "测试",
        "缓存",
        "请求",
        "数据库",
        "索引",
        "搜索",
        "用户",
        "接口",
        "日志",
        "错误",
        "版本",
        "分支",
        "模块",
        "函数",
        "参数",
        "结果",
        "页面",
        "组件",
        "服务",
        "线程",
        "内存",
        "性能",
        "权限",
        "订单",
        "潮汐",
        "港口",
        "票据",
        "账本",
        "课程",
        "列车",
        "图像",
        "音频",
        "传感器",
        "合同",
        "地图",
        "包裹",
        "文档",
        "脚本",
    ],
    verbs: &[
        "检查", "更新", "修复", "删除", "重构", "读取", "写入", "合并", "解析", "优化", "添加", "移动", "比较", "测试",
        "提交", "恢复", "替换", "加载", "生成", "验证",
    ],
    starts: &["请帮我", "现在需要", "我们应该先", "接下来", "为什么", "看起来", "首先", "另外", "注意", "目前"],
    links: &["的", "和", "中的", "之后的", "以及"],
    ends: &[
        "。",
        "，然后再运行一次测试。",
        "，但是结果不对。",
        "，这样会更快。",
        "吗？",
        "，不要改其他地方。",
        "，原因还不清楚。",
    ],
};

const JAPANESE: Lists = Lists {
    nouns: &[
        "ファイル",
        "設定",
        "テスト",
        "キャッシュ",
        "リクエスト",
        "データベース",
        "索引",
        "検索",
        "利用者",
        "画面",
        "ログ",
        "エラー",
        "版",
        "関数",
        "引数",
        "結果",
        "部品",
        "サーバー",
        "処理",
        "権限",
        "列車",
        "港",
        "請求書",
        "授業",
        "画像",
        "音声",
        "地図",
        "荷物",
        "文書",
        "契約",
    ],
    verbs: &[
        "確認して",
        "更新して",
        "修正して",
        "削除して",
        "読み込んで",
        "書き込んで",
        "統合して",
        "解析して",
        "追加して",
        "移動して",
        "比較して",
        "実行して",
        "復元して",
        "置き換えて",
    ],
    starts: &["まず", "次に", "この", "現在の", "なぜか", "できれば", "すべての", "新しい", "古い", "念のため"],
    links: &["の", "と", "にある", "から", "における"],
    ends: &[
        "ください。",
        "から進めます。",
        "も結果が変わりません。",
        "おきました。",
        "みましょう。",
        "いますか？",
        "いるようです。",
    ],
};

const KOREAN: Lists = Lists {
    nouns: &[
        "파일",
        "설정",
        "테스트",
        "캐시",
        "요청",
        "데이터베이스",
        "색인",
        "검색",
        "사용자",
        "화면",
        "로그",
        "오류",
        "버전",
        "함수",
        "인자",
        "결과",
        "모듈",
        "서버",
        "작업",
        "권한",
        "열차",
        "항구",
        "청구서",
        "수업",
        "이미지",
        "음성",
        "지도",
        "소포",
        "문서",
        "계약",
    ],
    verbs: &[
        "확인해",
        "수정해",
        "삭제해",
        "추가해",
        "비교해",
        "실행해",
        "복구해",
        "정리해",
        "변경해",
        "옮겨",
        "읽어",
        "합쳐",
    ],
    starts: &["먼저 ", "이제 ", "다음으로 ", "현재 ", "왜 ", "가능하면 ", "모든 ", "새로운 ", "그리고 ", "혹시 "],
    links: &[" ", "의 ", "과 ", " 안의 ", " 이후 "],
    ends: &[
        " 주세요.",
        " 보겠습니다.",
        " 봤는데 결과가 같습니다.",
        " 주실 수 있나요?",
        " 두었습니다.",
        " 보니 문제가 있습니다.",
    ],
};

impl Script {
    /// Draws the language of a session, in the proportions of the measured sample.
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        [Self::Chinese, Self::Japanese, Self::Korean][rng.weighted(&[75, 5, 20])]
    }

    fn lists(self) -> &'static Lists {
        match self {
            Self::Chinese => &CHINESE,
            Self::Japanese => &JAPANESE,
            Self::Korean => &KOREAN,
        }
    }

    /// Returns nouns joined by particles.
    pub(crate) fn nouns(self, rng: &mut Rng, count: usize) -> String {
        let lists = self.lists();
        let mut out = String::new();
        for at in 0..count {
            if at > 0 {
                out.push_str(rng.pick_str(lists.links));
            }
            out.push_str(rng.zipf_str(lists.nouns));
        }
        out
    }

    pub(crate) fn title(self, rng: &mut Rng) -> String {
        let count = rng.range(2, 4);
        self.nouns(rng, count)
    }

    pub(crate) fn sentence(self, rng: &mut Rng) -> String {
        let lists = self.lists();
        let (start, verb, end) = (rng.pick(lists.starts), rng.zipf(lists.verbs), rng.pick(lists.ends));
        let count = rng.range(1, 4);
        let nouns = self.nouns(rng, count);
        match self {
            Self::Chinese => format!("{start}{verb}{nouns}{end}"),
            Self::Japanese => format!("{start}{nouns}を{verb}{end}"),
            Self::Korean => format!("{start}{nouns}을 {verb}{end}"),
        }
    }

    /// Returns a string that no other sentence contains: nouns in a row, without particles.
    pub(crate) fn rare(self, rng: &mut Rng) -> String {
        let nouns = self.lists().nouns;
        let gap = if self == Self::Korean { " " } else { "" };
        (0..5).map(|_| *rng.pick(nouns)).collect::<Vec<_>>().join(gap)
    }
}
